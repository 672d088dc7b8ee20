import { describe, expect, test } from "bun:test";
import { MAX_LINK_FRAME_BYTES } from "#shared/protocol/limits.ts";
import { JobLogEntry } from "#shared/protocol/schema/job.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { clip, createStory } from "#worker/link/story.ts";

function rig() {
  const clock = createFakeClock();
  const batches: JobLogEntry[][] = [];
  const story = createStory({ clock, send: (entries) => batches.push(entries) });
  return { clock, batches, story };
}

describe("job story", () => {
  test("lines are sent together, at most 100 ms after the first", async () => {
    const { clock, batches, story } = rig();
    story.log("info", "navigate", "one", { ms: 3 });
    await clock.advance(99);
    story.log("warn", "wait", "two");
    expect(batches).toEqual([]);
    await clock.advance(1);
    expect(batches).toEqual([
      [
        {
          ts: clock.now() - 100,
          level: "info",
          stage: "navigate",
          message: "one",
          fields: { ms: 3 },
        },
        { ts: clock.now() - 1, level: "warn", stage: "wait", message: "two", fields: {} },
      ],
    ]);
    await clock.advance(1_000);
    expect(batches.length).toBe(1);
    story.log("info", "page", "three");
    await clock.advance(100);
    expect(batches.length).toBe(2);
  });

  test("200 lines do not wait", async () => {
    const { clock, batches, story } = rig();
    for (let i = 0; i < 450; i += 1) story.log("info", "page", `${i}`);
    expect(batches.map((b) => b.length)).toEqual([200, 200]);
    await clock.advance(100);
    expect(batches.flat().map((e) => e.message)).toEqual([...Array(450).keys()].map(String));
  });

  test("the end sends what is left and drops what comes later", async () => {
    const { clock, batches, story } = rig();
    story.log("info", "page", "one");
    story.end();
    story.log("info", "page", "late");
    story.end();
    await clock.advance(1_000);
    expect(batches.flat().map((e) => e.message)).toEqual(["one"]);
    expect(clock.sleepers()).toEqual([]);
  });

  test("every line fits the schema, every batch the frame, whatever is logged", () => {
    const { batches, story } = rig();
    for (let i = 0; i < 300; i += 1)
      story.log("info", "s".repeat(99), "漢".repeat(20_000), { text: "漢".repeat(3_000) });
    story.end();
    expect(batches.flat().length).toBe(300);
    for (const batch of batches) {
      expect(new TextEncoder().encode(JSON.stringify(batch)).length).toBeLessThan(
        MAX_LINK_FRAME_BYTES / 2,
      );
      for (const entry of batch) expect(JobLogEntry.safeParse(entry).success).toBe(true);
    }
  });

  test("fields that cannot be sent are named, and nothing is thrown", () => {
    const { batches, story } = rig();
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    story.log("info", "page", "loop", loop);
    story.log("info", "page", "bigint", { n: 1n });
    story.log("info", "page", "huge", { rows: Array(20_000).fill(1) });
    story.log("info", "page", "dates", { at: new Date(0), nul: "a\0b", gone: undefined });
    story.end();
    const fields = batches.flat().map((e) => e.fields);
    expect(fields.slice(0, 3).map((f) => typeof f.omitted)).toEqual(Array(3).fill("string"));
    expect(fields[3]).toEqual({ at: "1970-01-01T00:00:00.000Z", nul: "a\ufffdb" });
  });

  test("clipped text is well-formed and says that it was cut", () => {
    expect(clip("a😀b", 3)).toBe("a\ufffd…");
    expect(clip("abc", 3)).toBe("abc");
  });
});
