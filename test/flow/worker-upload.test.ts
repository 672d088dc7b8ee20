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
import { settleUploadBase } from "#worker/upload/base-url.ts";
import { createHttpSink, type HttpSink } from "#worker/upload/http-sink.ts";
import type { SpooledBody } from "#worker/upload/types.ts";

let hub: FakeHub;
let clock: FakeClock;
let dir: string;
let sinks: HttpSink[];
let story: string[];

const NEVER = new AbortController().signal;
const BIG = 3 * 1024 * 1024;
const OUTAGE =
  "warn upload the hub stores nothing now, and what was captured waits on the worker: HTTP 503: fault 503";
const path = (name: string) => `/workers/w1/jobs/j1/assets/${name}`;
const attempts = (name: string) => hub.uploads.filter((u) => u.path === path(name)).length;

function openSink(): HttpSink {
  const sink = createHttpSink({
    base_url: Promise.resolve(hub.upload_url),
    worker_id: "w1",
    job_id: "j1",
    lease_token: 4,
    upload_token: "token",
    story: { log: (level, stage, message) => void story.push(`${level} ${stage} ${message}`) },
    clock,
    random: () => 1,
  });
  sinks.push(sink);
  return sink;
}

async function spool(name: string, size = 5): Promise<SpooledBody> {
  const data = new Uint8Array(size).fill(name.charCodeAt(0));
  const file = join(dir, name);
  await Bun.write(file, data);
  return { path: file, size, sha256: createHash("sha256").update(data).digest("hex") };
}

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
      "spool file cannot be opened",
      "spool file has 5 bytes instead of 6",
    ]);
    expect(hub.uploads).toEqual([]);
  });
});

describe("small bodies", () => {
  const put = async (sink: HttpSink, names: string[]) => {
    const bodies = await Promise.all(names.map((name) => spool(name)));
    bodies.forEach((body, i) => {
      sink.putAsset(assetMeta(names[i] ?? ""), body);
    });
    return bodies;
  };
  const BATCH = "/workers/w1/jobs/j1/assets";
  const paths = () => hub.uploads.map((upload) => upload.path);

  test("of a burst: the first goes at once, the others together once 50 ms brought no further one", async () => {
    const sink = openSink();
    const bodies = await put(sink, ["a", "b"]);
    await hub.uploadsBegun(1);
    await clock.sleeperIn(50);
    await clock.advance(40);
    bodies.push(...(await put(sink, ["c"])));
    await clock.advance(10);
    expect(hub.uploads.length).toBe(1);
    await clock.sleeperIn(50);
    await clock.advance(50);
    await hub.uploadsBegun(2);
    expect(await sink.flush(NEVER)).toEqual({ stored: 3, bytes: 15, failed: [] });
    expect(paths()).toEqual([path("a"), BATCH]);
    expect(hub.batches).toEqual([["b", "c"]]);
    expect(hub.stored.get(path("c"))?.meta).toEqual(assetMeta("c"));
    expect(hub.uploads[1]).toMatchObject({ lease_token: "4", authorization: "Bearer token" });
    expect(bodies.filter((body) => existsSync(body.path))).toEqual([]);
  });

  test("are not held back longer than 5 s, however long the burst lasts", async () => {
    const sink = openSink();
    await put(sink, ["a", "b"]);
    for (let i = 0; i < 100; i += 1) {
      await put(sink, [`n${i}`]);
      await clock.sleeperIn(50);
      await clock.advance(50);
    }
    await hub.uploadsBegun(2);
    expect(paths()).toEqual([path("a"), BATCH]);
  });

  test("beyond 16 MB are not held back at all", async () => {
    const sink = openSink();
    const size = 256 * 1024;
    for (let i = 0; i < 66; i += 1) sink.putAsset(assetMeta(`n${i}`), await spool(`n${i}`, size));
    await hub.uploadsBegun(2);
    expect(hub.uploads[1]?.path).toBe(BATCH);
    expect((await sink.flush(NEVER)).stored).toBe(66);
    expect(Math.max(...hub.batches.map((names) => names.length))).toBeLessThan(9);
  });

  test("are sent by a flush without waiting, 128 a request", async () => {
    const sink = openSink();
    await put(
      sink,
      Array.from({ length: 201 }, (_, i) => `n${i}`),
    );
    expect((await sink.flush(NEVER)).stored).toBe(201);
    expect(hub.batches.map((names) => names.length)).toEqual([128, 72]);
    expect(clock.sleepers()).toEqual([]);
  });

  for (const [what, fault] of [
    ["a 503", 503],
    ["no answer for 30 s", "hold"],
  ] as const)
    test(`are sent again together after ${what}`, async () => {
      hub.fault = (upload) => (upload.path === BATCH && upload.attempt === 1 ? fault : null);
      const sink = openSink();
      await put(sink, ["a", "b", "c"]);
      const flushed = sink.flush(NEVER);
      await hub.uploadsBegun(2);
      if (fault === "hold") await clock.advance(30_000);
      await retryAfter(200);
      expect(await flushed).toEqual({ stored: 3, bytes: 15, failed: [] });
      expect(paths()).toEqual([path("a"), BATCH, BATCH]);
      const told = fault === 503 ? OUTAGE : "warn upload 2 bodies are sent again in 200 ms: ";
      expect(story[0]).toStartWith(told);
    });

  test("refused in the answer of their batch are sent alone", async () => {
    hub.entry_fault = (name) => (name === "b" ? 422 : null);
    const sink = openSink();
    await put(sink, ["a", "b", "c"]);
    expect(await sink.flush(NEVER)).toEqual({ stored: 3, bytes: 15, failed: [] });
    expect(paths()).toEqual([path("a"), BATCH, path("b")]);
  });

  test("are sent alone to a hub that takes no batches", async () => {
    hub.fault = (upload) => (upload.path === BATCH ? 404 : null);
    const sink = openSink();
    await put(sink, ["a", "b", "c"]);
    expect(await sink.flush(NEVER)).toEqual({ stored: 3, bytes: 15, failed: [] });
    expect(paths().sort()).toEqual([BATCH, path("a"), path("b"), path("c")].sort());
  });

  test("whose file is gone are named, the others of their batch are stored", async () => {
    const sink = openSink();
    const [, gone] = await put(sink, ["a", "b", "c"]);
    if (gone) await rm(gone.path);
    const { stored, failed } = await sink.flush(NEVER);
    expect(stored).toBe(2);
    expect(failed).toEqual([{ name: "b", reason: "spool file cannot be opened", was: "captured" }]);
  });

  test("of the same name travel in two requests, the later one last", async () => {
    const sink = openSink();
    await put(sink, ["a", "b"]);
    const later = { ...(await spool("later", 7)) };
    sink.putAsset(assetMeta("b"), later);
    expect((await sink.flush(NEVER)).stored).toBe(3);
    expect(hub.stored.get(path("b"))?.size).toBe(7);
  });

  test("held back when the sink is closed or stopped are given up and their files removed", async () => {
    const closed = openSink();
    const held = await put(closed, ["a", "b", "c"]);
    await closed.close();
    expect(held.filter((body) => existsSync(body.path))).toEqual([]);
    expect(clock.sleepers()).toEqual([]);

    hub.fault = () => 409;
    const stale = openSink();
    const lost = await put(stale, ["d", "e", "f"]);
    const { failed } = await stale.flush(NEVER);
    expect(failed.map(({ name }) => name).sort()).toEqual(["d", "e", "f"]);
    expect(lost.filter((body) => existsSync(body.path))).toEqual([]);
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
}, 60_000);

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
