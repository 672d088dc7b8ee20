import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EncodeRun, encodeVideo } from "#hub/fleet/recordings/video/encode.ts";
import type { VideoFrame } from "#hub/fleet/recordings/video/video-frames.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { fakeFfmpeg } from "#test/support/rigs/video-rig.ts";

/** How ffmpeg is run: what it gets, and that nothing of it is left (rules/recordings#export-as-a-video). */

const LONG_MS = 60_000;
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-encode-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function* frames(count: number): AsyncGenerator<VideoFrame> {
  const pixels = new Uint8Array(16 * 16 * 4).fill(200);
  for (let i = 0; i < count; i += 1) yield { ms: i * 100, pixels, drawn_ms: i * 100 };
}
const runOf = (given: Partial<EncodeRun>): EncodeRun => ({
  program: "ffmpeg",
  format: "mp4",
  size: { width: 16, height: 16 },
  frames: frames(3),
  file: join(dir, "video.mp4"),
  signal: new AbortController().signal,
  onFrame: () => {},
  ...given,
});
const program = (text: string) => fakeFfmpeg(dir, text);
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const pidIn = async (file: string) => {
  await until("the program runs", LONG_MS, () => existsSync(file));
  return Number(readFileSync(file, "utf8"));
};
/** Writes its own number, whole at once. */
const TELLS_PID = "echo $$ > pid.new; mv pid.new pid;";

test("every frame is told after the program has taken it, and the program gets all of them", async () => {
  const told: number[] = [];
  const run = runOf({
    program: program("cat > taken"),
    frames: frames(4),
    onFrame: ({ ms }) => void told.push(ms),
  });
  await encodeVideo(run);
  expect(told).toEqual([0, 100, 200, 300]);
  expect(readFileSync(join(dir, "taken")).length).toBeGreaterThan(4 * 16 * 16 * 4);
});

test("it runs with low priority, where its file goes, and with nothing of the hub's environment", async () => {
  process.env.A_SECRET_OF_THE_HUB = "s3cret";
  try {
    await encodeVideo(
      runOf({ program: program("cat > /dev/null; nice > nice; pwd > place; env > env") }),
    );
  } finally {
    delete process.env.A_SECRET_OF_THE_HUB;
  }
  const said = (name: string) => readFileSync(join(dir, name), "utf8").trim();
  expect(Number(said("nice"))).toBeGreaterThanOrEqual(10);
  expect(said("place")).toBe(dir);
  expect(said("env")).not.toContain("s3cret");
});

test("a program that fails is told by its last words, whether or not it reads", async () => {
  for (const reads of ["", "cat > /dev/null;"]) {
    const failing = program(`${reads} echo first >&2; echo 'no such codec' >&2; exit 3`);
    await expect(encodeVideo(runOf({ program: failing }))).rejects.toThrow(
      "ffmpeg ended with 3: no such codec",
    );
  }
});

test("a program that says nothing is told as well, and so is one that is not there", async () => {
  await expect(encodeVideo(runOf({ program: program("exit 1") }))).rejects.toThrow("said nothing");
  await expect(encodeVideo(runOf({ program: join(dir, "none") }))).rejects.toThrow("ffmpeg ended");
});

test("a program that ends well before it has read everything has made no video", async () => {
  await expect(
    encodeVideo(runOf({ program: program("exit 0"), frames: frames(500) })),
  ).rejects.toThrow("ffmpeg ended with 0");
});

test("a stop ends the program, in the middle of a frame and at its end", async () => {
  for (const text of ["exec sleep 600", "cat > /dev/null; exec sleep 600"]) {
    const stop = new AbortController();
    const run = runOf({
      program: program(`${TELLS_PID} ${text}`),
      frames: frames(200),
      signal: stop.signal,
    });
    const encoding = encodeVideo(run);
    encoding.catch(() => {});
    const pid = await pidIn(join(dir, "pid"));
    expect(isAlive(pid)).toBe(true);
    stop.abort(new Error("the hub was stopped"));
    await expect(encoding).rejects.toThrow("the hub was stopped");
    expect(isAlive(pid)).toBe(false);
    rmSync(join(dir, "pid"));
  }
});

test("what was stopped before it began starts nothing", async () => {
  const run = runOf({
    program: program("echo ran > ran; cat > /dev/null"),
    signal: AbortSignal.abort(new Error("too late")),
  });
  await expect(encodeVideo(run)).rejects.toThrow("too late");
  expect(existsSync(join(dir, "ran"))).toBe(false);
});

test("a frame that cannot be drawn ends the program, and is the reason", async () => {
  async function* broken(): AsyncGenerator<VideoFrame> {
    yield* frames(1);
    await until("the program runs", LONG_MS, () => existsSync(join(dir, "pid")));
    throw new Error("the screen cannot be drawn after 0.1 s");
  }
  const run = runOf({ program: program(`${TELLS_PID} exec cat > /dev/null`), frames: broken() });
  await expect(encodeVideo(run)).rejects.toThrow("cannot be drawn after 0.1 s");
  expect(isAlive(await pidIn(join(dir, "pid")))).toBe(false);
});
