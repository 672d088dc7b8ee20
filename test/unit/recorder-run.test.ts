import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "#shared/kit/log.ts";
import type { RecordingEvent } from "#shared/recording/events.ts";
import { framesOf, jsonOf } from "#shared/recording/frames.ts";
import { createMask } from "#shared/recording/masks.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { type RecorderDeps, startRecorder } from "#worker/browser/recording/recorder.ts";

/** A run's recorder and its hub (rules/recordings#on-the-way-to-the-hub). */

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Answer {
  status: number;
  length?: number;
}
type Hub = (offset: number, bytes: Buffer, calls: number) => Answer;

/** A recorder of events whose hub answers as it is told. */
function startRun(hub: Hub, dir = mkdtempSync(join(tmpdir(), "flotilla-recorder-"))) {
  const clock = createFakeClock();
  const asked: number[] = [];
  const server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const offset = Number(new URL(request.url).searchParams.get("offset"));
      asked.push(offset);
      const { status, ...body } = hub(
        offset,
        Buffer.from(await request.arrayBuffer()),
        asked.length,
      );
      return Response.json(body, { status });
    },
  });
  closing.push(
    () => rmSync(dir, { recursive: true, force: true }),
    () => void server.stop(true),
  );
  const mask = createMask(["hunter22"]);
  const live = {
    tabs: () => [],
    activeTarget: () => null,
    files: { listDownloads: () => [] },
    browser: () => null,
    foreign: false,
    mask,
  };
  const recorder = startRecorder({
    dir,
    clock,
    live,
    mode: "events",
    headless: true,
    unheard: [],
    place: {
      worker_id: "w1",
      job_id: "j1",
      session_id: "s1",
      base_url: () => Promise.resolve(`http://127.0.0.1:${server.port}`),
      lease_token: () => 1,
      upload_token: () => "token",
    },
    dialVnc: () => Promise.reject(new Error("no screen")),
    log: silentLog,
  } as unknown as RecorderDeps);
  return { recorder, mask, clock, asked, dir };
}

/** A hub that keeps what it is given, and knows nothing any more when `forgets` says so. */
function keepingHub(forgets: (calls: number) => boolean = () => false) {
  let kept: Buffer = Buffer.alloc(0);
  const answer: Hub = (offset, bytes, calls) => {
    if (forgets(calls)) kept = Buffer.alloc(0);
    if (offset !== kept.length) return { status: 409, length: kept.length };
    kept = Buffer.concat([kept, bytes]);
    return { status: 200, length: kept.length };
  };
  const said = () =>
    [...framesOf(kept)].map((frame) => {
      const { text, type, why } = jsonOf(frame) as Record<string, string>;
      return text ?? type ?? why;
    });
  return { answer, said };
}
const note = (text: string) => ({ type: "note", level: "info", text }) as const;

test("what was told is sent up to the end, and the worker keeps nothing of it", async () => {
  const hub = keepingHub();
  const { recorder, dir } = startRun(hub.answer);
  await recorder.begun;
  recorder.tell(note("it is hunter22"));
  await Promise.all([recorder.end("done"), recorder.end("twice")]);
  recorder.tell(note("too late"));
  expect(hub.said()).toEqual(["start", "it is ***", "done"]);
  expect(readdirSync(dir)).toEqual([]);
});

// rules/recordings#secrets-in-recordings
test("what a run enters later is hidden until everybody who has hidden it takes that back", async () => {
  const hub = keepingHub();
  const { recorder, mask } = startRun(hub.answer);
  await recorder.begun;
  const show = mask.hide(["entered later"]);
  const show_again = mask.hide(["entered later", "never"]);
  show_again();
  show_again();
  recorder.tell(note("hunter22 and entered%20later"));
  show();
  recorder.tell(note("hunter22 and entered%20later"));
  await recorder.end("done");
  expect(hub.said()).toEqual(["start", "*** and ***", "*** and entered%20later", "done"]);
});

test("a hub that has lost everything is sent everything again", async () => {
  const hub = keepingHub((calls) => calls === 2);
  const { recorder, asked } = startRun(hub.answer);
  await recorder.begun;
  recorder.tell(note("a"));
  await recorder.end("done");
  expect(hub.said()).toEqual(["start", "a", "done"]);
  expect(asked).toEqual([0, asked[1] as number, 0]);
});

test("a hub that claims to have more than was said ends the recording", async () => {
  const { recorder, asked } = startRun(() => ({ status: 409, length: 1e9 }));
  await recorder.begun;
  await recorder.end("done");
  expect(asked).toEqual([0]);
});

test("a hub that takes nothing of the run is not asked again, and the run goes on", async () => {
  for (const status of [403, 404, 413, 422]) {
    const { recorder, asked, dir } = startRun(() => ({ status }));
    await recorder.begun;
    for (let i = 0; i < 50; i += 1) recorder.tell(note("x".repeat(1_000)));
    await recorder.end("done");
    expect(asked).toEqual([0]);
    expect(readdirSync(dir)).toEqual([]);
  }
});

test("a disk that fails ends the recording, and never the run", async () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-recorder-"));
  closing.push(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "taken"), "");
  const { recorder, asked } = startRun(() => ({ status: 500 }), join(dir, "taken"));
  await recorder.begun;
  recorder.tell(note("a"));
  await recorder.end("done");
  expect(asked).toEqual([]);
});

/** What a page says, in so many lines. */
function flood(tell: (event: RecordingEvent) => void, lines: number, text = "flood") {
  for (let i = 0; i < lines; i += 1) tell({ type: "console", level: "log", text });
}

// rules/recordings#limits-of-a-recording
test("of a flood of what a page says 100 lines a second are kept, and the number of the others", async () => {
  const hub = keepingHub();
  const { recorder, clock } = startRun(hub.answer);
  flood(recorder.tell, 150);
  await clock.advance(1_000);
  flood(recorder.tell, 101);
  recorder.tell(note("after"));
  await recorder.end("done");
  expect(hub.said().filter((text) => text === "flood")).toHaveLength(200);
  expect(hub.said().filter((text) => text !== "flood")).toEqual([
    ...["start", "50 events of type console were left out: too many at once", "after"],
    ...["1 event of type console was left out: too many at once", "done"],
  ]);
});

// rules/recordings#limits-of-a-recording
test("a page that floods its console displaces no action, stage or error, in a second or in the whole recording", async () => {
  const hub = keepingHub();
  const { recorder, clock } = startRun(hub.answer);
  const others = [
    { type: "action", name: "click", ms: 1, outcome: "done" },
    { type: "stage", stage: "run", text: "a stage" },
    { type: "error", text: "an error" },
    { type: "request_failed", url: "http://site.test/", error: "failed", resource: "script" },
  ] as RecordingEvent[];
  const line = "x".repeat(1_900);
  for (let second = 0; second < 60; second += 1) {
    flood(recorder.tell, 120, line);
    await clock.advance(1_000);
  }
  flood(recorder.tell, 120, line);
  for (const event of others) recorder.tell(event);
  await recorder.end("done");
  const said = hub.said().filter((text) => text !== line);
  expect(said.filter((text) => !text?.includes("left out"))).toEqual([
    ...["start", "action", "a stage", "an error", "request_failed", "done"],
  ]);
  const kept = hub.said().length - said.length;
  expect(said).toContain(
    "the limit of events of type console is reached: the ones that follow are left out",
  );
  const left_out = said.flatMap(
    (text) => /^(\d+) events of type console were left out/.exec(text ?? "")?.[1] ?? [],
  );
  expect(left_out.reduce((sum, n) => sum + Number(n), kept)).toBe(61 * 120);
  expect(said.at(-2)).toMatch(/^\d+ events of type console were left out: beyond the limit$/);
});
