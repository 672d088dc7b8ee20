import { afterEach, expect, test } from "bun:test";
import type { Clock } from "#shared/clock.ts";
import type { FakeWorker } from "#test/support/fake-worker.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/hub.ts";

/** Full size: `FLEET_DAY_HOURS=24 bun test test/flow/fleet-day.test.ts`; the suite runs a short one. */
const HOURS = Number(process.env.FLEET_DAY_HOURS ?? 2);
const LEAP_MS = 60_000;
const LEAPS_PER_HOUR = 3_600_000 / LEAP_MS;
/** Of keys in the shared store. */
const KINDS = ["hub:", "worker:", "session:", "preview:"];
const WORKERS = ["w1", "w2", "w3"];
/** Of a heap that was collected: code that was compiled late, and statements that were prepared. */
const HEAP_SLACK_BYTES = 24 * 1024 * 1024;

/** Time in leaps: who sleeps until a moment in between wakes once, at the end of the leap. */
function createLeapingClock(): Clock & { leap(ms: number): void } {
  let now = Date.UTC(2026, 0, 1);
  const sleepers = new Set<{ at: number; wake(): void }>();
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper = {
          at: now + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener("abort", sleeper.wake);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", sleeper.wake, { once: true });
      }),
    leap: (ms) => {
      now += ms;
      for (const sleeper of [...sleepers]) if (sleeper.at <= now) sleeper.wake();
    },
  };
}

let hub: TestHub | undefined;
afterEach(async () => {
  await hub?.close();
  hub = undefined;
});

/** Everything of a hub that could grow: entries of its maps and sets, keys of the shared store, its heap. */
async function sizesOf({ ctx }: TestHub) {
  const held = Object.entries(ctx).flatMap(([name, value]) =>
    value instanceof Map || value instanceof Set ? [[name, value.size] as const] : [],
  );
  const keys = (await Promise.all(KINDS.map((kind) => ctx.kv.list(kind)))).flat();
  Bun.gc(true);
  const heap = process.memoryUsage().heapUsed;
  return { held: Object.fromEntries(held), keys: keys.map(({ key }) => key), heap };
}

test(`§8 ${HOURS} hours of heartbeats, jobs, sessions and restarts leave no more in a hub than the first one`, async () => {
  const clock = createLeapingClock();
  const day = await startTestHub({ clock, env: { SVC_LOG_LEVEL: "error" } });
  hub = day;
  let workers: FakeWorker[] = [];
  const connect = async () => {
    workers = await Promise.all(WORKERS.map((worker_id) => day.worker({ worker_id, lanes: 2 })));
  };
  const job = async () => {
    const { status, body } = await day.call("POST", "/jobs", { url: TARGET });
    expect(status).toBe(200);
    const worker = workers.find((w) => w.worker_id === body.worker_id) as FakeWorker;
    const run = await worker.assigned.next((a) => a.job_id === body.job_id);
    worker.log(run, "page", "loaded");
    worker.finish(run);
    await day.signals.next("job finished", { job_id: body.job_id });
    // As an operator who keeps a fleet small does; records of jobs are kept until then.
    expect((await day.call("DELETE", `/jobs/${body.job_id}`)).status).toBe(204);
  };
  const session = async () => {
    const { status, body } = await day.call("POST", "/sessions", {});
    expect(status).toBe(201);
    expect((await day.call("POST", `/sessions/${body.session_id}/reload`)).status).toBe(200);
    expect((await day.call("DELETE", `/sessions/${body.session_id}`)).status).toBe(204);
  };
  const hour = async () => {
    for (let leap = 0; leap < LEAPS_PER_HOUR; leap += 1) {
      clock.leap(LEAP_MS);
      await Promise.all(workers.map((worker) => worker.settle()));
      await job();
      if (leap % 10 === 0) await session();
    }
    // What a fake worker remembers is no part of the hub.
    for (const { messages, assigned, opening, closing, calls } of workers)
      for (const queue of [messages, assigned, opening, closing, calls]) queue.clear();
    day.signals.clear();
    expect((await day.call("GET", "/workers")).body.workers.length).toBe(WORKERS.length);
  };

  await connect();
  await hour();
  const first = await sizesOf(day);
  for (let i = 1; i < HOURS; i += 1) {
    await day.restart();
    await connect();
    await hour();
  }
  const last = await sizesOf(day);
  expect(last.held).toEqual(first.held);
  // The registrations of hubs that ended without a word go by themselves; there is one of this hub.
  const kinds = (keys: string[]) => keys.map((key) => key.replace(/^hub:.*/, "hub:…"));
  expect(kinds(last.keys)).toEqual(kinds(first.keys));
  expect(last.heap - first.heap).toBeLessThan(HEAP_SLACK_BYTES);
  for (const { worker_id } of workers) expect(await day.ctx.leases.list(worker_id)).toEqual([]);
}, 600_000);
