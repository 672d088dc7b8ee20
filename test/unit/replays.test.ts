import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import type { ReplayClock, ReplayEntry } from "#shared/protocol/schema/replay.ts";
import { openReplays, type Replay, type Replays } from "#worker/replay/replays.ts";

/** Captures as a worker opens them, from a hub that serves an index and bodies. */

const entry = (path: string, name: string): ReplayEntry => ({
  method: "GET",
  url: `http://site.test${path}`,
  status: 200,
  headers: [["content-type", "text/plain"]],
  body: { name, size: name.length },
});

let dir: string;
let hub: ReturnType<typeof Bun.serve>;
let replays: Replays;
let index: (string | null)[] = [];
let asked: string[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "rp-"));
  asked = [];
  hub = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      asked.push(`${request.headers.get("authorization")} ${pathname}`);
      if (pathname.endsWith("/none")) return new Response(null, { status: 404 });
      const [, body] = pathname.split("/bodies/");
      if (body !== undefined) return new Response(body);
      return new Response(
        (async function* () {
          for (const piece of index) yield piece ?? "";
        })() as unknown as ReadableStream,
      );
    },
  });
  replays = await openReplays({ dir: join(dir, "replays"), max_bytes: 1_000, clock: systemClock });
});
afterEach(async () => {
  await hub.stop(true);
  await rm(dir, { recursive: true, force: true });
});

const open = (job_id: string, missed: string[] = [], clock: ReplayClock = "now"): Promise<Replay> =>
  replays.open({
    job_id,
    clock,
    hub: {
      base_url: Promise.resolve(`http://127.0.0.1:${hub.port}`),
      worker_id: "w1",
      upload_token: "token",
    },
    signal: new AbortController().signal,
    onMissed: (_method, url) => missed.push(url),
  });
const read = async ({ archive }: Replay, path: string): Promise<string> =>
  (await fetch(`http://site.test${path}`, { unix: archive.stand_in.http } as RequestInit)).text();

describe("a capture from the hub (rules/replay#limits)", () => {
  test("is read piece by piece, answers, begins again, and leaves nothing behind", async () => {
    const lines = [entry("/a", "first"), entry("/a", "second")]
      .map((one) => `${JSON.stringify(one)}\n`)
      .join("");
    // A piece may end anywhere.
    index = [lines.slice(0, 30), lines.slice(30, 130), lines.slice(130)];
    const missed: string[] = [];
    const replay = await open("job1", missed);
    const answers = [await read(replay, "/a"), await read(replay, "/a")];
    replay.rewind();
    expect([...answers, await read(replay, "/a")]).toEqual(["first", "second", "first"]);
    await read(replay, "/gone");
    await read(replay, "/gone");
    expect(replay.report()).toMatchObject({ job_id: "job1", answered: 3, missed_count: 2 });
    expect(missed).toEqual(["http://site.test/gone"]);
    expect(asked).toEqual([
      "Bearer token /workers/w1/replays/job1",
      "Bearer token /workers/w1/replays/job1/bodies/first",
      "Bearer token /workers/w1/replays/job1/bodies/second",
    ]);
    await Promise.all([replay.close(), replay.close()]);
    expect(await readdir(join(dir, "replays"))).toEqual([]);
  });

  test("that the hub does not have cannot be opened, and neither can one that makes no sense", async () => {
    expect(open("none")).rejects.toThrow(
      "the capture of job none cannot be read: the hub does not have it any more",
    );
    index = ['{"method": "GET"}\n'];
    expect(open("job1")).rejects.toThrow("the capture of job job1 cannot be read");
  });
});

describe("the clock of a capture (rules/replay#the-clock)", () => {
  const began = Date.parse("2026-01-02T03:04:05.000Z");
  const tell = (entries: ReplayEntry[]) => {
    index = entries.map((one) => `${JSON.stringify(one)}\n`);
  };

  test("begins at its first request, whichever line that is", async () => {
    tell([
      { ...entry("/b", "b"), at: began + 700 },
      { ...entry("/a", "a"), at: began },
    ]);
    const { archive, report, close } = await open("job1", [], "capture");
    const wrong_ms = Date.now() + (archive.clock_offset_ms ?? 0) - began;
    expect(wrong_ms).toBeWithin(0, 60_000);
    expect(report()).toMatchObject({ clock_began: "2026-01-02T03:04:05.000Z" });
    await close();
  });

  test("is left alone where nobody asked for it, and a capture without a time cannot give it", async () => {
    tell([{ ...entry("/a", "a"), at: began }]);
    const { archive, report, close } = await open("job1");
    expect([archive.clock_offset_ms, "clock_began" in report()]).toEqual([null, false]);
    await close();
    tell([entry("/a", "a")]);
    expect(open("job1", [], "capture")).rejects.toThrow("does not say when it was made");
  });
});

test("what an earlier process left is removed at the start", async () => {
  const left = join(dir, "replays", "left");
  await mkdir(left, { recursive: true });
  await writeFile(join(left, "body"), "x");
  await openReplays({ dir: join(dir, "replays"), max_bytes: 1, clock: systemClock });
  expect(existsSync(left)).toBe(false);
});
