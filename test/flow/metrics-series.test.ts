import { afterEach, expect, test } from "bun:test";
import { reconcileOnce } from "#hub/fleet/jobs/passes.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { readMetrics, sampleOf } from "#test/support/models/prometheus-text.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import type { TestHubOptions } from "#test/support/rigs/hub-options.ts";

/** What a hub tells of its health and of what ran out, and how many series that can become (rules/metrics). */

let hub: TestHub;
afterEach(() => hub.close());
// Each process counts what it did itself.
const start = async (options: TestHubOptions = {}) => {
  hub = await startTestHub({ alone: true, ...options });
};
const scrape = async () => readMetrics((await hub.call("GET", "/metrics")).text);

const HOSTS = 1_000;
const AT_ONCE = 100;

test("a thousand hosts make no more series than one (rules/metrics#labels)", async () => {
  let skipped_ms = 0;
  // Answers are used again for 3 s.
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skipped_ms };
  await start({ clock });
  const submit = (i: number) => hub.call("POST", "/jobs", { url: `http://host-${i}.example/page` });
  const series = async () => {
    const all = await scrape();
    return { all, keys: all.map(({ name, labels }) => name + JSON.stringify(labels)).sort() };
  };
  await submit(0);
  await series();
  skipped_ms += 3_000;
  const { keys } = await series();
  for (let i = 1; i < HOSTS; i += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, HOSTS - i) }, (_, k) => submit(i + k)),
    );
  skipped_ms += 3_000;
  const then = await series();
  expect(sampleOf(then.all, "flotilla_jobs_queued")).toBe(HOSTS);
  expect(sampleOf(then.all, "flotilla_refusals_total", { kind: "job", reason: "no_worker" })).toBe(
    HOSTS,
  );
  // The delay of the event loop has quantiles only where the loop was measured.
  const without = (all: string[]) => all.filter((key) => !key.includes("quantile"));
  expect(without(then.keys)).toEqual(without(keys));
  expect(then.keys.length).toBeLessThan(400);
}, 180_000);

test("what is degraded and how full the disk is can be told from metrics (rules/metrics#of-every-process)", async () => {
  await start();
  const all = await scrape();
  for (const part of ["database", "worker_registry", "object_store", "disk", "backup"])
    expect(sampleOf(all, "flotilla_degraded", { part })).toBe(0);
  expect(sampleOf(all, "flotilla_disk_free_bytes")).toBeGreaterThan(0);
  expect(sampleOf(all, "flotilla_disk_reserve_bytes")).toBeGreaterThan(0);
});

test("a disk that is short and a store that takes nothing are degraded (rules/metrics#of-every-process)", async () => {
  const reserve = String(Number.MAX_SAFE_INTEGER);
  await start({ env: { SVC_DISK_RESERVE_BYTES: reserve } });
  const degraded = [{ part: "object_store" as const, detail: "read-only" }];
  hub.ctx.stores_health.degraded = async () => degraded;
  const all = await scrape();
  const of = (part: string) => sampleOf(all, "flotilla_degraded", { part });
  expect([of("disk"), of("object_store"), of("database")]).toEqual([1, 1, 0]);
  const free = sampleOf(all, "flotilla_disk_free_bytes");
  expect(free).toBeLessThan(sampleOf(all, "flotilla_disk_reserve_bytes") ?? 0);
});

test("without a watched disk there is no room to tell of, and nothing has failed (rules/metrics#of-every-process)", async () => {
  await start({ env: { SVC_DISK_RESERVE_BYTES: "0" } });
  const all = await scrape();
  expect(sampleOf(all, "flotilla_disk_free_bytes")).toBeNull();
  expect(sampleOf(all, "flotilla_metrics_reading_failed", { part: "disk" })).toBe(0);
});

test("a job that waited too long and a session that was idle are counted (rules/metrics#of-the-fleet)", async () => {
  const clock = createFakeClock();
  await start({ clock });
  const headers = { prefer: "respond-async" };
  await hub.call("POST", "/jobs", { url: TARGET }, { headers });
  await clock.advance(200_000);
  await reconcileOnce(hub.ctx);
  await hub.worker();
  await hub.call("POST", "/sessions", { idle_ttl_s: 10 });
  await clock.advance(20_000);
  const all = await scrape();
  expect(sampleOf(all, "flotilla_jobs_overdue_total")).toBe(1);
  expect(sampleOf(all, "flotilla_sessions_expired_total", { kind: "sdk" })).toBe(1);
});
