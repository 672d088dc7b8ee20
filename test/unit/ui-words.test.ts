import { describe, expect, test } from "bun:test";
import { verdictOf } from "#hub/ui/client/fleet/job/verdict.ts";
import type { ChosenStep } from "#hub/ui/client/fleet/session/recorded/chosen.ts";
import { enteredBy, objectOf, verbOf } from "#hub/ui/client/fleet/session/steps/step-words.ts";
import { changesText, scheduleText } from "#hub/ui/client/fleet/watches/watch-words.ts";
import { isSkewed, nextOfUpdate } from "#hub/ui/client/fleet/workers/version.ts";
import { numberOf, numberProps } from "#hub/ui/client/forms/number-props.ts";
import { linesOf } from "#hub/ui/client/lib/lines.ts";
import {
  UPDATE_LABELS,
  updateColor,
  updateWords,
} from "#hub/ui/client/parts/updates/update-words.ts";
import { draftFor, isWay, KINDS, kindOf, MAIN } from "#hub/ui/client/pipeline/workloads/ways.ts";
import { pipelineName, unitOf } from "#hub/ui/client/system/setting-names.ts";

/** What pages say of states and things, in words of their own (rules/web-app#states). */

describe("a watch", () => {
  const watch = { cron: null, cron_tz: "UTC", every_s: null, paused: false };
  test("says when it is due, and whether it waits for somebody", () => {
    const said = (fields: object) => scheduleText({ ...watch, ...fields } as never);
    expect(said({ every_s: 5_400 })).toBe("every 1 h 30 min");
    expect(said({ cron: "0 9 * * *", cron_tz: "Europe/Berlin" })).toBe("0 9 * * * (Europe/Berlin)");
    expect(said({ every_s: 60, paused: true })).toBe("paused; every 1 min");
  });

  test("says what changed, part by part", () => {
    const changes = {
      parts: ["text", "title", "status", "assets"],
      text: { added: 1_200, removed: 3 },
      title: { before: null, after: "New" },
      status: { before: 200, after: 404 },
      assets: { new: 1, gone: 0, changed: 2 },
    };
    expect(changesText(changes as never)).toBe(
      "text lines: 1,200 new, 3 gone; title: none → New; status: 200 → 404; assets: 1 new, 0 gone, 2 changed",
    );
    expect(changesText({ ...changes, parts: ["title"] } as never)).toBe("title: none → New");
  });

  test("takes a pattern a line, without blank ones", () => {
    expect(linesOf(" a \n\n  \r\nb")).toEqual(["a", "b"]);
  });
});

describe("the version of a worker", () => {
  const update = { target: "v2", state: "held", error: null };
  test("differs where it is another text", () => {
    expect([isSkewed({ version: "a" }, "a"), isSkewed({ version: "a" }, "b")]).toEqual([
      false,
      true,
    ]);
  });

  test("is on its way in each of the states, with the version and why it failed", () => {
    for (const state of Object.keys(UPDATE_LABELS))
      expect(updateWords({ ...update, state } as never)).toMatch(/^Its? .*\.$/);
    expect(updateWords({ ...update, state: "failed", error: "no room" } as never)).toBe(
      "Its update to v2 failed: no room.",
    );
    expect(updateWords({ ...update, state: "failed" } as never)).toContain("it gave no reason");
    expect(updateWords({ ...update, state: "proving", error: "2 of 3" } as never)).toEndWith(
      ": 2 of 3",
    );
    const colors = ["failed", "held", "draining"].map((state) =>
      updateColor({ ...update, state } as never),
    );
    expect([...colors, updateColor(null)]).toEqual(["red", "gray", "orange", "orange"]);
  });

  test("comes by itself where nothing is reported", () => {
    const next = (fields: object) =>
      nextOfUpdate({ alive: true, update: null, ...fields } as never);
    expect(next({ alive: false })).toBe("It gets the hub's version after it reconnects.");
    expect(next({})).toStartWith("It has reported no update.");
    expect(next({ update })).toStartWith("It takes version v2 when it is its turn");
  });
});

test("an attempt says how it ended; one that goes on, or was not judged, is no failure", () => {
  const said = (fields: object) => verdictOf(fields as never);
  expect(said({ state: "running", verdict: null })).toEqual({ title: "running", color: "blue" });
  expect(said({ state: "ended", verdict: null })).toEqual({ title: "no verdict", color: "gray" });
  expect(said({ state: "ended", verdict: { class: "success" } }).color).toBe("teal");
  expect(said({ state: "ended", verdict: { class: "timeout" } })).toEqual({
    title: "too slow",
    color: "orange",
  });
  expect(said({ state: "ended", verdict: { class: "wrong_result" } }).color).toBe("red");
});

describe("a recorded step", () => {
  const button = { name: "Buy", role: "button", selectors: [], frame: [] };
  const step = (fields: object) => ({ ...button, ...fields }) as unknown as ChosenStep;
  const said = (fields: object) => `${verbOf(step(fields)).verb} ${objectOf(step(fields))}`;
  test("reads as a person would say it", () => {
    expect(said({ kind: "click", click_count: 1 })).toBe("Click “Buy”");
    expect(said({ kind: "click", click_count: 2 })).toBe("Double-click “Buy”");
    expect(said({ kind: "navigate", url: "https://shop.test/a" })).toBe("Go to shop.test/a");
    expect(said({ kind: "press", key: "Enter" })).toBe("Press Enter in “Buy”");
    expect(said({ kind: "tab", tab: 1 })).toBe("Change the tab to tab 2");
    expect(said({ kind: "scroll", amount: -300 })).toBe("Scroll by -300 px");
    expect(said({ kind: "check", name: "" })).toBe("Tick “button”");
  });

  test("says what it enters, and of a secret only that it is one", () => {
    const entered = (fields: object) => enteredBy(step(fields));
    expect(entered({ kind: "fill", text: "Ada" })).toBe("Ada");
    expect(entered({ kind: "select_option", values: ["a", "b"] })).toBe("a, b");
    expect(entered({ kind: "select_option", values: [] })).toBe("a secret");
    expect(entered({ kind: "upload", files: ["a.txt"] })).toBe("a.txt");
    expect(entered({ kind: "click", click_count: 1 })).toBeNull();
  });
});

test("a number's field has its bounds and keeps what was typed; an empty one is left out", () => {
  expect(numberProps({ min: 1, max: 9, integer: true } as never)).toEqual({
    clampBehavior: "none",
    min: 1,
    max: 9,
    allowDecimal: false,
  });
  expect(numberProps({} as never).allowDecimal).toBe(true);
  expect([numberOf(""), numberOf("0"), numberOf(7)]).toEqual([undefined, 0, 7]);
  expect(numberOf("-")).toBeNaN();
});

describe("a new workload", () => {
  test("is made in one of the ways, each of which is in one kind and begins with what matters", () => {
    const ways = KINDS.flatMap((kind) => kind.ways.map(({ value }) => value));
    expect(new Set(ways).size).toBe(ways.length);
    for (const way of ways) {
      expect([isWay(way), kindOf(way).ways.some(({ value }) => value === way)]).toEqual([
        true,
        true,
      ]);
      expect(MAIN[way].length).toBeGreaterThan(0);
      expect(draftFor(way).slug).toBe("");
    }
    expect([isWay("toString"), isWay("")]).toEqual([false, false]);
  });
});

test("settings have names and units; one of a later version is shown by its key", () => {
  expect([pipelineName("db_url"), pipelineName("new_key_s")]).toEqual(["Database", "new_key_s"]);
  expect([unitOf("llm_timeout_s"), unitOf("service_log_days"), unitOf("log_level")]).toEqual([
    ...["s", "days", ""],
  ]);
});
