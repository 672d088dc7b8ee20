import { expect, test } from "bun:test";
import { createMemoryKv } from "#hub/platform/stores/kv-memory.ts";
import { createKeptTraces } from "#hub/platform/tracing/kept-trace.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

/** The traces of what waits (rules/spans#what-waits-long). */

const HOUR_MS = 3_600_000;
const traceOf = (n: number) => `00-${String(n).padStart(32, "0")}-b7ad6b7169203331-01`;
const of = (n: number) => ({ traceparent: traceOf(n), parent_id: null, at: n });

function start(most?: number) {
  const clock = createFakeClock();
  const kv = createMemoryKv(clock);
  const kept = createKeptTraces({ kv, log: silentLog }, most);
  return { clock, kv, kept, at: async (key: string) => (await kept.find(key))?.at ?? null };
}

test("what is submitted again while it waits keeps its trace; once it has begun it gets another (rules/spans#what-waits-long)", async () => {
  const { kept, at } = start();
  await kept.keep("a", of(1));
  await kept.keep("a", of(2));
  expect(await at("a")).toBe(1);
  await kept.begun("a", of(1));
  expect(await at("a")).toBe(1);
  await kept.keep("a", of(3));
  expect(await at("a")).toBe(3);
  await kept.forget("a");
  expect(await at("a")).toBeNull();
});

test("what waits is kept for a day, what has begun for an hour (rules/spans#what-waits-long)", async () => {
  const { clock, kept, at } = start();
  await kept.keep("waits", of(1));
  await kept.begun("runs", of(2));
  await clock.advance(HOUR_MS);
  expect([await at("waits"), await at("runs")]).toEqual([1, null]);
  await clock.advance(23 * HOUR_MS);
  expect(await at("waits")).toBeNull();
});

test("a process keeps a bounded number of them, and the oldest give way (rules/spans#what-waits-long)", async () => {
  const { kv, kept, at } = start(3);
  for (let n = 1; n <= 10; n += 1) await kept.keep(`k${n}`, of(n));
  expect(await kv.list("trace:")).toHaveLength(3);
  expect([await at("k7"), await at("k8")]).toEqual([null, 8]);
  await kept.begun("k8", of(8));
  await kept.keep("k11", of(11));
  expect([await at("k8"), await at("k9")]).toEqual([8, null]);
});
