import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "#shared/kit/log.ts";
import { assetMeta } from "#test/support/clients/asset-meta.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { FAKE_VERSION, type FakeHub, startFakeHub } from "#test/support/fakes/fake-hub.ts";
import { OUTAGE, pathOf as path, sinkTo, spoolIn } from "#test/support/rigs/upload-sink.ts";
import { settleUploadBase } from "#worker/upload/base-url.ts";
import type { HttpSink } from "#worker/upload/http-sink.ts";

let hub: FakeHub;
let clock: FakeClock;
let dir: string;
let sinks: HttpSink[];
let story: string[];

const NEVER = new AbortController().signal;
const BIG = 3 * 1024 * 1024;
const attempts = (name: string) => hub.uploads.filter((u) => u.path === path(name)).length;

function openSink(): HttpSink {
  const sink = sinkTo(hub, clock, story);
  sinks.push(sink);
  return sink;
}

const spool = (name: string, size = 5) => spoolIn(dir, name, size);

/** Waits for the retry's pause of `ms` and skips it. */
const retryAfter = async (ms: number) => {
  await clock.sleeperIn(ms);
  await clock.advance(ms);
};

beforeEach(async () => {
  hub = await startFakeHub();
  clock = createFakeClock();
  dir = await mkdtemp(join(tmpdir(), "worker-upload-"));
  sinks = [];
  story = [];
});
afterEach(async () => {
  await Promise.all(sinks.map((sink) => sink.close()));
  await hub.stop();
  await rm(dir, { recursive: true, force: true });
});

describe("an upload", () => {
  test("carries length, checksum, lease, token and meta, and removes its spool file", async () => {
    const sink = openSink();
    const meta = assetMeta("ä b.png", { partial: true, ranges: [{ start: 0, end: 4 }] });
    const body = await spool("a.png");
    sink.putAsset(meta, body);
    expect(await sink.flush(NEVER)).toEqual({ stored: 1, bytes: 5, failed: [] });
    expect(hub.uploads).toEqual([
      {
        path: path("ä b.png"),
        attempt: 1,
        lease_token: "4",
        authorization: "Bearer token",
        content_length: "5",
        sha256: body.sha256,
        meta,
      },
    ]);
    expect(existsSync(body.path)).toBe(false);
  });

  test("of an empty body is stored as an empty file", async () => {
    const sink = openSink();
    sink.putAsset(assetMeta("empty"), await spool("empty", 0));
    expect((await sink.flush(NEVER)).failed).toEqual([]);
    expect(hub.stored.get(path("empty"))?.size).toBe(0);
  });

  test("cuts over-long URLs so that its headers are never refused", async () => {
    const sink = openSink();
    const url = `http://site.test/?q=${"é".repeat(30_000)}`;
    const ranges = Array.from({ length: 1_000 }, (_, i) => ({ start: i * 10, end: i * 10 + 5 }));
    sink.putAsset(assetMeta("a", { source_url: url, page_url: url, ranges }), await spool("a"));
    expect((await sink.flush(NEVER)).failed).toEqual([]);
    const meta = hub.stored.get(path("a"))?.meta;
    expect(url.startsWith(meta?.source_url ?? "-")).toBe(true);
    expect(meta?.name).toBe("a");
  });

  test("runs beside at most three others", async () => {
    const sink = openSink();
    for (let i = 0; i < 30; i += 1) sink.putAsset(assetMeta(`n${i}`), await spool(`n${i}`, BIG));
    expect((await sink.flush(NEVER)).stored).toBe(30);
    expect(hub.most_at_once()).toBe(4);
  });

  for (const [what, size, fault] of [
    ["a dropped connection", BIG, "drop"],
    ["a dropped connection of a small body", 5, "drop"],
    ["a 500", BIG, 500],
    ["a 503", 5, 503],
    ["a checksum mismatch", BIG, "corrupt"],
  ] as const)
    test(`is sent again after ${what}, with the same name and checksum, and stored once`, async () => {
      hub.fault = ({ attempt }) => (attempt === 1 ? fault : null);
      const sink = openSink();
      const body = await spool("a.png", size);
      sink.putAsset(assetMeta("a.png"), body);
      await retryAfter(200);
      expect(await sink.flush(NEVER)).toEqual({ stored: 1, bytes: size, failed: [] });
      expect(hub.uploads.map((u) => [u.path, u.sha256])).toEqual(
        Array(2).fill([path("a.png"), body.sha256]),
      );
      expect([...hub.stored.keys()]).toEqual([path("a.png")]);
      expect(existsSync(body.path)).toBe(false);
      const told = fault === 503 ? OUTAGE : "warn upload a.png is sent again in 200 ms: ";
      expect(story[0]).toStartWith(told);
    });

  test("is given up after 30 s of failures, named with its reason, and its file removed", async () => {
    hub.fault = () => 500;
    const sink = openSink();
    const body = await spool("a.png");
    sink.putAsset(assetMeta("a.png"), body);
    for (const wait of [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000])
      await retryAfter(wait);
    expect((await sink.flush(NEVER)).failed).toEqual([
      { name: "a.png", reason: 'HTTP 500: {"detail":"fault 500"}', was: "captured" },
    ]);
    expect(existsSync(body.path)).toBe(false);
  });

  test("whose checksum never matches is given up after four tries", async () => {
    hub.fault = () => "corrupt";
    const sink = openSink();
    sink.putAsset(assetMeta("a.png"), await spool("a.png"));
    for (const wait of [200, 400, 800]) await retryAfter(wait);
    expect((await sink.flush(NEVER)).failed[0]?.reason).toContain("checksum mismatch");
    expect(attempts("a.png")).toBe(4);
  });

  test("that makes no progress for 30 s is cut and sent again", async () => {
    hub.fault = ({ attempt }) => (attempt === 1 ? "hold" : null);
    const sink = openSink();
    sink.putAsset(assetMeta("a.png"), await spool("a.png"));
    await hub.uploadsBegun(1);
    await clock.advance(30_000);
    await retryAfter(200);
    expect((await sink.flush(NEVER)).stored).toBe(1);
    expect(story[0]).toContain("upload progress timed out");
  });

  test("too large for the hub (413) is not sent again", async () => {
    hub.fault = () => 413;
    const sink = openSink();
    sink.putAsset(assetMeta("a.png", { partial: true }), await spool("a.png", BIG));
    sink.putDocument("page.html", "x");
    expect((await sink.flush(NEVER)).failed.map((f) => [f.name, f.was, f.reason]).sort()).toEqual([
      ["a.png", "partial", "too large for the hub"],
      ["page.html", "document", "too large for the hub"],
    ]);
    expect(hub.uploads.length).toBe(2);
  });

  test("of a file that is gone or shorter than announced fails at once", async () => {
    const sink = openSink();
    const gone = await spool("gone");
    await rm(gone.path);
    sink.putAsset(assetMeta("gone"), gone);
    sink.putAsset(assetMeta("short"), { ...(await spool("short")), size: 6 });
    expect((await sink.flush(NEVER)).failed.map((f) => f.reason).sort()).toEqual([
      "could not open the spool file",
      "the spool file has 5 bytes instead of 6",
    ]);
    expect(hub.uploads).toEqual([]);
  });
});

describe("the end of a sink", () => {
  test("401 of another hub than the link's is none: the body is sent again", async () => {
    hub.fault = ({ attempt }) => (attempt < 3 ? 401 : null);
    const sink = openSink();
    sink.putAsset(assetMeta("a.png"), await spool("a.png", BIG));
    for (const wait of [200, 400]) await retryAfter(wait);
    expect(await sink.flush(NEVER)).toEqual({ stored: 1, bytes: BIG, failed: [] });
  });

  for (const [status, reason, waits] of [
    [409, "stale lease", []],
    [401, "upload token refused", [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000]],
  ] as const)
    test(`${status} stops it whole: nothing is sent after it, every file is removed`, async () => {
      hub.fault = () => status;
      const sink = openSink();
      const bodies = await Promise.all([...Array(20).keys()].map((i) => spool(`n${i}`, BIG)));
      bodies.forEach((body, i) => {
        sink.putAsset(assetMeta(`n${i}`), body);
      });
      const flushed = sink.flush(NEVER);
      for (const [i, wait] of waits.entries()) {
        await hub.uploadsBegun(4 * (i + 1));
        while (clock.sleepers().filter((ms) => ms === wait).length < 4) await clock.advance(0);
        await clock.advance(wait);
      }
      const { stored, failed } = await flushed;
      expect(stored).toBe(0);
      expect(new Set(failed.map((f) => f.reason))).toEqual(new Set([reason]));
      expect(failed.length).toBe(20);
      expect(hub.uploads.length).toBeLessThanOrEqual(4 * (waits.length + 1));
      expect(story.filter((line) => !line.includes("sent again"))).toEqual([
        `warn upload uploads stopped: ${reason}`,
      ]);
      expect(bodies.filter((b) => existsSync(b.path))).toEqual([]);
      sink.putAsset(assetMeta("late"), await spool("late"));
      expect((await sink.flush(NEVER)).failed.map((f) => f.name)).toEqual(["late"]);
      expect(attempts("late")).toBe(0);
    });

  test("flush gives up what is left when its signal aborts, and says what", async () => {
    hub.fault = () => "hold";
    const sink = openSink();
    const body = await spool("a.png");
    sink.putAsset(assetMeta("a.png"), body);
    await hub.uploadsBegun(1);
    const late = new AbortController();
    const flushed = sink.flush(late.signal);
    late.abort(new Error("not stored within 2 s"));
    expect((await flushed).failed).toEqual([
      { name: "a.png", reason: "not stored within 2 s", was: "captured" },
    ]);
    expect(existsSync(body.path)).toBe(false);
  });

  test("close stops what runs and is idempotent", async () => {
    hub.fault = () => "hold";
    const sink = openSink();
    const body = await spool("a.png", BIG);
    sink.putAsset(assetMeta("a.png"), body);
    await hub.uploadsBegun(1);
    await Promise.all([sink.close(), sink.close()]);
    expect(existsSync(body.path)).toBe(false);
    expect(clock.sleepers()).toEqual([]);
  });
});

test("a 300 MB body is sent in bounded memory", async () => {
  const size = 300 * 1024 * 1024;
  const file = await open(join(dir, "big.bin"), "w");
  const hash = createHash("sha256");
  const chunk = new Uint8Array(1024 * 1024);
  for (let i = 0; i < 300; i += 1) {
    chunk.fill(i % 251);
    hash.update(chunk);
    await file.write(chunk);
  }
  await file.close();
  const sha256 = hash.digest("hex");
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, "../support/clients/upload-once.ts"),
      hub.upload_url,
      join(dir, "big.bin"),
      String(size),
      sha256,
    ],
    { stdout: "pipe", stderr: "inherit" },
  );
  const said = JSON.parse(await new Response(child.stdout).text());
  expect(said.failed).toEqual([]);
  expect(hub.stored.get(path("big.bin"))).toMatchObject({ size, sha256 });
  expect(said.grown_kb).toBeLessThan(96 * 1024);
}, 180_000);

describe("the base address for uploads", () => {
  const settle = (public_base_url: string | null, expected_version = FAKE_VERSION) =>
    settleUploadBase({
      public_base_url,
      dialled: "http://10.0.0.1:8000",
      expected_version,
      log: silentLog,
    });

  test("is the public one when the hub answers there", async () => {
    expect(await settle(`${hub.upload_url}/`)).toBe(hub.upload_url);
  });
  test("is the dialled one when the public one is unset, silent or somebody else's", async () => {
    expect(await settle(null)).toBe("http://10.0.0.1:8000");
    expect(await settle("http://127.0.0.1:1")).toBe("http://10.0.0.1:8000");
    expect(await settle(hub.upload_url, "another-version")).toBe("http://10.0.0.1:8000");
  });
});
