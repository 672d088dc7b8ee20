import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assetMeta } from "#test/support/clients/asset-meta.ts";
import { createFakeClock, type FakeClock } from "#test/support/fakes/fake-clock.ts";
import { type FakeHub, startFakeHub } from "#test/support/fakes/fake-hub.ts";
import { OUTAGE, pathOf as path, sinkTo, spoolIn } from "#test/support/rigs/upload-sink.ts";
import type { HttpSink } from "#worker/upload/http-sink.ts";

let hub: FakeHub;
let clock: FakeClock;
let dir: string;
let sinks: HttpSink[];
let story: string[];

const NEVER = new AbortController().signal;

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
    expect(failed).toEqual([
      { name: "b", reason: "could not open the spool file", was: "captured" },
    ]);
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
