import { afterEach, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { archiveOf, BASE, SMALL, versionOf } from "#test/support/rigs/update-rig.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { startServices } from "#worker/program/services.ts";
import { readState, versionsDir } from "#worker/program/update/state.ts";
import { createSteadyVersion } from "#worker/program/update/steady-version.ts";

const NEXT = versionOf(SMALL);
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A control plane with no tasks, of version NEXT. */
async function startControl() {
  const archive = await archiveOf([["VERSION", `${NEXT}\n`], ...SMALL]);
  const drained = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/worker-source.tar.gz") return new Response(new Uint8Array(archive));
      if (pathname.endsWith("/register"))
        return Response.json({ worker_id: "w", heartbeat_ms: 20, version: NEXT });
      if (pathname.endsWith("/heartbeat"))
        return Response.json({ lost: [], drain: false, version: NEXT });
      // As a claim that waits: it is answered when its worker drains.
      if (pathname.endsWith("/exchange"))
        return drained.promise.then(() =>
          Response.json({ results: [], batches: [], workloads: [] }),
        );
      if (pathname.endsWith("/drain")) drained.resolve();
      return Response.json({});
    },
  });
  closers.push(() => server.stop(true));
  return server.url.origin;
}

test("a worker that only pulls tasks fetches its control plane's version, swaps and exits with 42 (rules/updates#pull-workers)", async () => {
  const data_dir = await mkdtemp(join(tmpdir(), "flotilla-pull-update-"));
  closers.push(() => rm(data_dir, { recursive: true, force: true }));
  const config = loadWorkerConfig(
    { SVC_CONTROL_URL: await startControl(), SVC_DATA_DIR: data_dir, SVC_WORKER_ID: "w" },
    {},
  );
  const worker = await startServices({
    config,
    clock: systemClock,
    log: silentLog,
    version: BASE,
  });
  closers.push(() => worker.stop());
  expect(await worker.exited).toBe(42);
  const state = await readState(versionsDir(data_dir), BASE, silentLog);
  expect(state).toMatchObject({ current: NEXT, attempts: 0 });
});

test("a version is told when six heartbeats in a row had it, once; control planes that are upgraded one by one move nobody", () => {
  const told: string[] = [];
  const hear = createSteadyVersion((version) => told.push(version));
  const beats = (versions: string) => {
    for (const version of versions) hear(version);
  };
  beats("aaaaabaaaababab");
  expect(told).toEqual([]);
  beats("bbbbbbbbbb");
  expect(told).toEqual(["b"]);
  beats("abbbbbb");
  expect(told).toEqual(["b", "b"]);
});
