import { expect, test } from "bun:test";
import { createArrivals } from "#hub/fleet/jobs/arrivals.ts";

test("arrivals are later than every one before, and follow a clock that was put back", () => {
  let now = 5_000;
  const arrivals = createArrivals({ now: () => now, monotonic: () => now, sleep: async () => {} });
  expect([arrivals.next(), arrivals.next(), arrivals.next()]).toEqual([5_000, 5_001, 5_002]);
  now = 6_000;
  expect(arrivals.next()).toBe(6_000);
  now = 5_500;
  expect(arrivals.next()).toBe(6_001);
  now = 1_000;
  expect(arrivals.next()).toBe(1_000);
});
