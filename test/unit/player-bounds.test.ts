import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { mergeEvents, readOnFrom } from "#hub/ui/client/fleet/player/model/events.ts";
import type { Mark } from "#hub/ui/client/fleet/player/model/happenings.ts";
import { countUpTo, groupMarks, pageAt } from "#hub/ui/client/fleet/player/model/moment.ts";
import { planSeek } from "#hub/ui/client/fleet/player/model/seek.ts";
import {
  grow,
  momentOfParam,
  momentParam,
  seek,
  startTransport,
  tick,
  toggle,
} from "#hub/ui/client/fleet/player/model/transport.ts";
import type { TimedEvent } from "#shared/recording/events.ts";

/** What holds for the player whatever was recorded and pressed (rules/recordings#the-player). */

const moment = fc.integer({ min: 0, max: 100_000 });

describe("the player's place", () => {
  test("it stays within the recording, whatever is pressed and however it grows", () => {
    const step = fc.oneof(
      fc.tuple(fc.constant("seek" as const), fc.integer({ min: -1e6, max: 1e6 })),
      fc.tuple(fc.constant("tick" as const), moment),
      fc.tuple(fc.constant("grow" as const), moment),
      fc.tuple(fc.constant("over" as const), moment),
      fc.tuple(fc.constant("toggle" as const), fc.constant(0)),
    );
    fc.assert(
      fc.property(fc.boolean(), fc.option(moment), fc.array(step), (live, at_ms, steps) => {
        let now = startTransport({ whole_ms: 10_000, live, at_ms });
        for (const [what, ms] of steps) {
          const before = now;
          if (what === "seek") now = seek(now, ms);
          if (what === "tick") now = tick(now, ms);
          if (what === "grow") now = grow(now, ms, now.live);
          if (what === "over") now = grow(now, ms, false);
          if (what === "toggle") now = toggle(now);
          expect(now.ms).toBeGreaterThanOrEqual(0);
          expect(now.ms).toBeLessThanOrEqual(now.whole_ms);
          expect(now.whole_ms).toBeGreaterThanOrEqual(before.whole_ms);
          // Live is watched at the end alone, and nothing plays there.
          if (now.following) expect([now.live, now.playing]).toEqual([true, false]);
        }
      }),
    );
  });

  test("a moment of an address comes back as it was written, to a tenth of a second", () => {
    fc.assert(
      fc.property(moment, (ms) => {
        const again = momentOfParam(momentParam(ms)) ?? -1;
        expect(Math.abs(again - ms)).toBeLessThanOrEqual(50);
        expect(momentParam(again)).toBe(momentParam(ms));
      }),
    );
  });
});

describe("what is drawn and marked", () => {
  test("a decoder never draws a piece twice, and never leaves one out", () => {
    const times = fc
      .array(moment, { minLength: 1, maxLength: 30 })
      .map((all) => all.sort((a, b) => a - b));
    fc.assert(
      fc.property(times, fc.array(moment, { maxLength: 20 }), (said, asked) => {
        const screen = said.map((ms) => ({ ms, bytes: new Uint8Array(1) }));
        let drawn: { offset: number; pieces: number } | null = null;
        for (const ms of asked) {
          const plan = planSeek(drawn, 7, screen, ms);
          expect(plan.from).toBe(plan.anew ? 0 : (drawn?.pieces ?? 0));
          expect(plan.to).toBeGreaterThanOrEqual(Math.max(1, plan.from));
          expect(plan.to).toBeGreaterThanOrEqual(said.filter((at) => at <= ms).length);
          drawn = { offset: 7, pieces: plan.to };
        }
      }),
    );
  });

  test("every mark is in one group of its kind, and a place has at most one of each", () => {
    const mark = fc.record({
      at_ms: moment,
      kind: fc.constantFrom<Mark["kind"]>("navigation", "action", "error", "input"),
      text: fc.string(),
    });
    fc.assert(
      fc.property(fc.array(mark), fc.integer({ min: 0, max: 200 }), (marks, places) => {
        const groups = groupMarks(marks, 100_000, places);
        expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(marks.length);
        expect(groups.length).toBeLessThanOrEqual(4 * (places + 1) + 4);
      }),
    );
    const many: Mark[] = Array.from({ length: 9 }, (_, i) => ({
      at_ms: i,
      kind: "input",
      text: `${i}`,
    }));
    expect(groupMarks(many, 100_000, 10)).toEqual([
      { at_ms: 0, kind: "input", text: "0\n1\n2\n3\nand 5 more", count: 9 },
    ]);
  });

  test("a list up to a moment is found as by looking at each line", () => {
    fc.assert(
      fc.property(fc.array(moment), moment, (times, ms) => {
        const items = times.sort((a, b) => a - b).map((at_ms) => ({ at_ms }));
        expect(countUpTo(items, ms)).toBe(items.filter(({ at_ms }) => at_ms <= ms).length);
      }),
    );
  });

  test("a tab that was closed is not the page of a moment any more", () => {
    const tab = (at_ms: number, state: "opened" | "closed" | "active", id: string): TimedEvent => ({
      type: "tab",
      state,
      tab: id,
      at_ms,
      ...(state === "opened" && { url: `https://${id}.test/` }),
    });
    const events = [
      ...[tab(0, "opened", "one"), tab(1, "opened", "two"), tab(2, "active", "two")],
      ...[tab(3, "closed", "two"), tab(4, "closed", "one")],
    ];
    expect(pageAt(events, 2)).toEqual({ url: "https://two.test/", tabs: 2 });
    expect(pageAt(events, 3)).toEqual({ url: "https://one.test/", tabs: 1 });
    expect(pageAt(events, 4)).toEqual({ url: null, tabs: 0 });
  });
});

test("events that are read on piece by piece are the ones that were written", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.array(fc.nat(40)), (times, lengths) => {
      const all = times
        .sort((a, b) => a - b)
        .map((at_ms, i): TimedEvent => ({ type: "note", level: "info", text: `${i}`, at_ms }));
      let known: readonly TimedEvent[] = [];
      for (const length of [...lengths.sort((a, b) => a - b), all.length]) {
        const after_ms = readOnFrom(known);
        const answer = all.slice(0, length).filter(({ at_ms }) => at_ms > after_ms);
        known = mergeEvents(known, after_ms, answer);
      }
      expect(known).toEqual(all);
    }),
  );
});
