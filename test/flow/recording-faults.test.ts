import { afterEach, expect, test } from "bun:test";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { appendToRecording } from "#hub/fleet/recordings/append.ts";
import { endLostRecordings, sealLeftParts } from "#hub/fleet/recordings/keep.ts";
import {
  readEvents,
  readRecording,
  recordingOfSession,
} from "#hub/fleet/recordings/read-recordings.ts";
import type { Run } from "#hub/fleet/recordings/runs.ts";
import { encodeFrame, encodeJsonFrame, FRAME } from "#shared/recording/frames.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** Recordings whose disk, store, hub or worker fails (rules/recordings#storage). */

let hub: TestHub;
afterEach(() => hub.close());

const START = encodeJsonFrame(FRAME.event, 0, {
  type: "start",
  at: "2026-11-20T10:00:00.000Z",
  of: "session",
  id: "x",
  mode: "screen",
  screen: "headful",
});
const note = (ms: number, text: string) =>
  encodeJsonFrame(FRAME.event, ms, { type: "note", level: "info", text });
const end = (ms: number) => encodeJsonFrame(FRAME.end, ms, { why: "ended" });
const joined = (...frames: Uint8Array[]) => new Uint8Array(Buffer.concat(frames));
/** A run of a session that the hub does not know any more. */
const runOf = (session_id: string): Run => ({
  worker_id: "w1",
  job_id: null,
  session_id,
  lease_token: 1,
});
const append = (name: string, offset: number, bytes: Uint8Array) =>
  appendToRecording(hub.ctx, runOf(name), offset, bytes);
const rowOf = (name: string) => hub.ctx.db.recordings.get(`s-${name}`);
const partsDir = () => hub.ctx.recordings.dir;
const textsOf = async (name: string, after = -1) => {
  const { items } = await readEvents(hub.ctx, await recordingOfSession(hub.ctx, name), after);
  return items.map((event) => ("text" in event ? event.text : event.type));
};
const bytesOf = async (stream: ReadableStream<Uint8Array>) =>
  new Uint8Array(
    await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer(),
  );

test("what is sealed while somebody begins to read it is read whole (rules/recordings#read-a-recording)", async () => {
  hub = await startTestHub();
  const first = joined(START, note(5, "a"));
  await append("one", 0, first);
  const known = await recordingOfSession(hub.ctx, "one");
  await append("one", first.length, joined(note(6, "b"), end(7)));
  expect(hub.ctx.recordings.by_run.size).toBe(0);
  const range = { start: 3, end: known.bytes - 1 };
  expect(await bytesOf(await readRecording(hub.ctx, known, range))).toEqual(first.slice(3));
  const { items } = await readEvents(hub.ctx, known, 0);
  expect(items.map(({ at_ms }) => at_ms)).toEqual([5, 6]);
});

test("of calls at the same time one counts, and the others are told how long it is (rules/recordings#on-the-way-to-the-hub)", async () => {
  hub = await startTestHub();
  const answers = await Promise.allSettled(
    Array.from({ length: 5 }, (_, i) => append("race", 0, joined(START, note(i, `n${i}`)))),
  );
  const taken = answers.filter(({ status }) => status === "fulfilled");
  expect(taken).toHaveLength(1);
  const length = START.length + note(1, "n1").length;
  for (const answer of answers)
    if (answer.status === "rejected")
      expect(answer.reason).toMatchObject({ kind: "conflict", body: { length } });
  expect(await textsOf("race")).toHaveLength(2);
});

test("nothing begins a recording but a start at its beginning (rules/recordings#the-file)", async () => {
  hub = await startTestHub();
  const wrong = [
    new Uint8Array(0),
    note(0, "no start"),
    encodeFrame(FRAME.event, 0, new TextEncoder().encode("{")),
    encodeJsonFrame(FRAME.event, 0, { type: "start", mode: "everything" }),
    encodeFrame(FRAME.rfb, 0, new Uint8Array(10)),
    end(0),
  ];
  for (const bytes of wrong)
    expect(append("none", 0, bytes)).rejects.toMatchObject({ body: { length: 0 } });
  expect(append("none", 12, START)).rejects.toMatchObject({ body: { length: 0 } });
  // The calls above were taken before this one, in turn.
  expect(append("none", 0, joined(START, START.slice(0, -1)))).rejects.toMatchObject({
    kind: "invalid",
  });
  await append("other", 0, START);
  expect(await rowOf("none")).toBeNull();
});

test("what an ended recording is told later is refused, and changes nothing", async () => {
  hub = await startTestHub();
  const whole = joined(START, end(5));
  await append("over", 0, whole);
  const late = await append("over", whole.length, note(9, "late")).catch((err) => err);
  expect(late).toMatchObject({ kind: "conflict", message: "the recording is over" });
  expect(late.body ?? {}).not.toHaveProperty("length");
  expect(await textsOf("over")).toEqual(["start"]);
  expect(await readdir(partsDir())).toEqual([]);
});

test("an end that the object store does not take is sealed when it takes objects again", async () => {
  const clock = createFakeClock();
  hub = await startTestHub({ clock });
  const { objects } = hub.ctx;
  const { put } = objects;
  objects.put = () => Promise.reject(new Error("the store is gone"));
  const whole = joined(START, note(3, "kept"), end(5));
  expect(await append("late", 0, whole)).toBe(whole.length);
  expect(await rowOf("late")).toMatchObject({ state: "live", sealed: 0 });
  // It can be read from this hub's disk until then.
  expect(await textsOf("late")).toEqual(["start", "kept"]);
  objects.put = put;
  await clock.advance(40_000);
  await endLostRecordings(hub.ctx);
  expect(await rowOf("late")).toMatchObject({ state: "whole", sealed: whole.length });
  expect(await textsOf("late")).toEqual(["start", "kept"]);
});

test("a recording whose file is gone does not keep others from being sealed", async () => {
  const clock = createFakeClock();
  hub = await startTestHub({ clock });
  await append("gone", 0, START);
  await append("there", 0, joined(START, note(2, "there")));
  await rm(join(partsDir(), "s-gone.0.part"));
  await clock.advance(40_000);
  await endLostRecordings(hub.ctx);
  expect(await rowOf("there")).toMatchObject({ state: "cut" });
  expect(await textsOf("there")).toEqual(["start", "there"]);
  // What is gone is not looked at again, and its worker, if it comes back, sends all of it again.
  expect(hub.ctx.recordings.by_run.has("s-gone")).toBe(false);
  const whole = joined(START, note(2, "again"), end(5));
  expect(await append("gone", 0, whole)).toBe(whole.length);
  expect(await textsOf("gone")).toEqual(["start", "again"]);
});

test("a file from which something was taken is not sealed as if it were whole", async () => {
  hub = await startTestHub();
  await append("cut", 0, START);
  await writeFile(join(partsDir(), "s-cut.0.part"), "");
  const more = joined(note(3, "more"), end(5));
  await append("cut", START.length, more);
  expect(await rowOf("cut")).toMatchObject({ state: "live", sealed: 0 });
  const whole = joined(START, more);
  expect(await append("cut", 0, whole)).toBe(whole.length);
  expect(await rowOf("cut")).toMatchObject({ state: "whole", sealed: whole.length });
  expect(await textsOf("cut")).toEqual(["start", "more"]);
});

test("a file that was written up to the middle of a frame is sealed up to the last whole one", async () => {
  hub = await startTestHub();
  const first = joined(START, note(4, "whole"));
  await append("torn", 0, first);
  await append("wrong", 0, START);
  hub.ctx.recordings.by_run.clear();
  const file = (name: string, base = 0) => join(partsDir(), `s-${name}.${base}.part`);
  await writeFile(file("torn"), joined(first, note(9, "torn").slice(0, -3)));
  await writeFile(file("wrong"), joined(START, new Uint8Array(64)));
  // Nobody's: of a recording that was never begun, of another place, and no files of parts.
  await writeFile(file("stranger"), first);
  await writeFile(file("torn", 999), first);
  await writeFile(join(partsDir(), "notes.txt"), "mine");
  await mkdir(file("folder"));
  await sealLeftParts(hub.ctx);
  expect(await rowOf("torn")).toMatchObject({ state: "live", sealed: first.length });
  expect(await rowOf("wrong")).toMatchObject({ state: "live", sealed: START.length });
  expect((await readdir(partsDir())).sort()).toEqual(["notes.txt", "s-folder.0.part"]);
  expect(await textsOf("torn")).toEqual(["start", "whole"]);
  // Its worker goes on after what was saved.
  const again = append("torn", first.length + 20, note(9, "torn"));
  expect(again).rejects.toMatchObject({ body: { length: first.length } });
  await append("torn", first.length, joined(note(9, "again"), end(10)));
  expect(await textsOf("torn")).toEqual(["start", "whole", "again"]);
});

test("events that this version does not know are passed over, and the rest is read (rules/recordings#the-file)", async () => {
  hub = await startTestHub();
  const unknown = [
    encodeJsonFrame(FRAME.event, 2, { type: "of a later version", text: "x" }),
    encodeFrame(FRAME.event, 3, new Uint8Array([0xff, 0xfe])),
    encodeFrame(77, 4, new Uint8Array(100)),
    encodeJsonFrame(FRAME.event, 5, { type: "note", level: "info", text: "x".repeat(3_000) }),
  ];
  await append("later", 0, joined(START, ...unknown, note(6, "known")));
  expect(await textsOf("later")).toEqual(["start", "known"]);
  expect(await textsOf("later", 5)).toEqual(["known"]);
  expect(await textsOf("later", 6)).toEqual([]);
});
