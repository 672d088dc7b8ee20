import { expect, test } from "bun:test";
import { countUpload } from "#hub/fleet/metrics/count-upload.ts";
import { createFleetMeters } from "#hub/fleet/metrics/fleet-meters.ts";
import { newTallies, tallyOp } from "#hub/pipeline/metrics/queue-tallies.ts";
import { createCallCounts } from "#hub/platform/http/call-counts.ts";
import { createMetrics } from "#hub/platform/metrics/metrics.ts";
import { createBoundedLabel } from "#shared/kit/bounded-label.ts";
import { createLog, type Log } from "#shared/kit/log.ts";
import { addProcessMetrics } from "#shared/kit/process-metrics.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { readMetrics, sampleOf } from "#test/support/models/prometheus-text.ts";

/** The parts of which metrics are made (rules/metrics). */

const lines: string[] = [];
const log: Log = createLog("debug", (line) => lines.push(line));
const make = () => {
  const clock = createFakeClock();
  const metrics = createMetrics({ clock, log });
  const read = async () => {
    const all = readMetrics(await metrics.text());
    return (name: string, labels = {}) => sampleOf(all, name, labels);
  };
  return { clock, metrics, read };
};

test("an answer is used again for 3 s, then everything is read anew (rules/metrics#access)", async () => {
  const { clock, metrics, read } = make();
  let reads = 0;
  const gauge = metrics.gauge("g", "g");
  metrics.reading("one", [gauge], () => gauge.set(++reads));
  expect([(await read())("g"), (await read())("g")]).toEqual([1, 1]);
  await clock.advance(2_999);
  expect((await read())("g")).toBe(1);
  await clock.advance(1);
  expect((await read())("g")).toBe(2);
});

test("a reading that hangs costs 1.5 s and its own values only (rules/metrics#parts-that-cannot-be-read)", async () => {
  const { clock, metrics } = make();
  const hung = metrics.gauge("hung", "hung", ["of"]);
  const fine = metrics.gauge("fine", "fine");
  hung.set({ of: "before" }, 1);
  metrics.reading("slow", [hung], () => new Promise(() => undefined));
  metrics.reading("quick", [fine], () => fine.set(3));
  const text = metrics.text();
  await clock.sleeperIn(1_500);
  await clock.advance(1_500);
  const all = readMetrics(await text);
  expect(sampleOf(all, "fine")).toBe(3);
  expect(sampleOf(all, "hung", { of: "before" })).toBeNull();
  expect(sampleOf(all, "flotilla_metrics_reading_failed", { part: "slow" })).toBe(1);
  expect(sampleOf(all, "flotilla_metrics_reading_failed", { part: "quick" })).toBe(0);
  expect(lines.some((line) => line.includes("some metrics could not be read"))).toBe(true);
});

test("the first values of a label keep their name, the others share one (rules/metrics#labels)", () => {
  const nameOf = createBoundedLabel(2);
  expect(["a", "b", "c", "a", "d", "b"].map(nameOf)).toEqual([
    "a",
    "b",
    "other",
    "a",
    "other",
    "b",
  ]);
});

test("a label's value cannot end its line or its quotes (rules/metrics#labels)", async () => {
  const { metrics, read } = make();
  metrics.gauge("g", "g", ["of"]).set({ of: 'a"} 1\nb\\' }, 1);
  expect((await read())("g", { of: 'a\\"} 1\\nb\\\\' })).toBe(1);
});

test("calls are counted by method and status; made-up methods are one (rules/metrics#of-every-process)", async () => {
  const { metrics, read } = make();
  const counts = createCallCounts(metrics);
  for (const [method, status] of [
    ["GET", 200],
    ["GET", 200],
    ["GET", 404],
    ["BREW", 405],
    ["STEEP", 405],
  ] as const)
    counts.answered(method, status);
  const get = await read();
  const of = (method: string, code: string) =>
    get("flotilla_http_requests_total", { method, code });
  expect([of("GET", "200"), of("GET", "404"), of("other", "405")]).toEqual([2, 1, 2]);
});

test("the delay of the event loop is measured from the first scrape on (rules/metrics#of-every-process)", async () => {
  const { clock, metrics, read } = make();
  addProcessMetrics(metrics, { version: "1.2.3", mode: "hub" });
  const delay = (get: Awaited<ReturnType<typeof read>>) =>
    get("flotilla_event_loop_delay_seconds", { quantile: "1" });
  const first = await read();
  expect(first("flotilla_build_info", { version: "1.2.3", mode: "hub", bun: Bun.version })).toBe(1);
  expect(delay(first)).toBeNull();
  let measured: number | null = null;
  while (measured === null) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(3_000);
    measured = delay(await read());
  }
  expect(measured).toBeGreaterThan(0);
});

test("a batch counts what it stored and what it refused, and hands both on (rules/metrics#of-the-fleet)", async () => {
  const { metrics, read } = make();
  const ctx = { meters: createFleetMeters(metrics) };
  const stored = [{ size: 10 }, { error: "too large" }, { size: 5 }];
  expect(await countUpload(ctx, "batch", Promise.resolve(stored))).toBe(stored);
  const failed = new Error("disk full");
  const upload = Promise.reject<{ size: number }>(failed);
  expect(await countUpload(ctx, "single", upload).catch((err) => err)).toBe(failed);
  const get = await read();
  expect(get("flotilla_uploads_total", { way: "batch" })).toBe(2);
  expect(get("flotilla_upload_bytes_total", { way: "batch" })).toBe(15);
  expect(get("flotilla_uploads_refused_total", { way: "batch" })).toBe(1);
  expect(get("flotilla_uploads_refused_total", { way: "single" })).toBe(1);
});

test("what a transaction of the queue did is added up by its kind (rules/metrics#of-the-pipeline)", () => {
  const tallies = newTallies();
  const tally = (op: string, result: unknown) => tallyOp(tallies, { op } as never, result as never);
  tally("submit", { submitted: 3, duplicates: 2 });
  tally("claim", { tasks: [{}, {}] });
  tally("claim", { tasks: [] });
  tally("renew", [1]);
  tally("complete", [{ status: "ok" }, { status: "stale" }]);
  tally("fail", [{ status: "ok" }]);
  tally("release", [{ status: "ok" }, { status: "ok" }]);
  expect(tallies).toEqual({
    submitted: 3,
    duplicates: 2,
    claimed: 2,
    claims: { found: 1, empty: 1 },
    ended: { complete: 1, fail: 1, release: 2 },
    stale: 1,
    leases_lost: 1,
    leases_expired: 0,
  });
});
