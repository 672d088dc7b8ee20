import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Candidate, chooseWorker, isCandidate } from "#hub/fleet/links/schedule.ts";

/** The worker that is next (rules/scheduling#candidates, rules/scheduling#order-of-candidates). */

const NOW = 1_000_000;
const worker = (more: Partial<Candidate> = {}): Candidate => ({
  status: "active",
  heard_at: NOW,
  in_flight: 0,
  max_concurrent: 2,
  lane_novnc_urls: ["http://w:6080/"],
  novnc_url: null,
  disk_pct: 10,
  ...more,
});

const RULE_1: [string, Partial<Candidate>, boolean][] = [
  ["alive, active, with room", {}, true],
  ["heartbeat 120 s ago", { heard_at: NOW - 120_000 }, true],
  ["heartbeat more than 120 s ago", { heard_at: NOW - 120_001 }, false],
  ["drain", { status: "drain" }, false],
  ["standby", { status: "standby" }, false],
  ["in_flight at max_concurrent", { in_flight: 2 }, false],
  ["in_flight below max_concurrent", { in_flight: 1 }, true],
  ["no lane viewer URL", { lane_novnc_urls: [] }, false],
  ["a single-browser URL instead", { lane_novnc_urls: [], novnc_url: "http://w/" }, true],
  ["disk at 89.9 %", { disk_pct: 89.9 }, true],
  ["disk at 90 %", { disk_pct: 90 }, false],
];
for (const [name, more, expected] of RULE_1)
  test(`${name} is ${expected ? "a" : "no"} candidate (rules/scheduling#candidates)`, () => {
    expect(isCandidate(worker(more), NOW)).toBe(expected);
  });

test("the lowest in_flight wins, then the larger max_concurrent (rules/scheduling#order-of-candidates)", () => {
  const busy = worker({ in_flight: 1, max_concurrent: 9 });
  const small = worker({ max_concurrent: 1 });
  const large = worker({ max_concurrent: 4 });
  for (const order of [
    [busy, small, large],
    [large, small, busy],
    [small, large, busy],
  ])
    expect(chooseWorker(order, NOW, Math.random)).toBe(large);
  expect(chooseWorker([busy, worker({ status: "drain" })], NOW, Math.random)).toBe(busy);
  expect(chooseWorker([], NOW, Math.random)).toBeNull();
});

test("each worker of a tie is chosen by an equal share of the random numbers (rules/scheduling#order-of-candidates)", () => {
  const tied = [worker(), worker(), worker()];
  const counts = [0, 0, 0];
  const steps = 60;
  // A grid over both draws instead of luck: the second worker of a tie draws once, the third once more.
  for (let a = 0; a < steps; a += 1)
    for (let b = 0; b < steps; b += 1) {
      const draws = [(a + 0.5) / steps, (b + 0.5) / steps];
      const chosen = chooseWorker(tied, NOW, () => draws.shift() ?? 0);
      counts[tied.indexOf(chosen as Candidate)] =
        (counts[tied.indexOf(chosen as Candidate)] ?? 0) + 1;
    }
  expect(counts.map((n) => Math.round((n / (steps * steps)) * 100))).toEqual([33, 33, 33]);
});

test("the chosen worker is always a candidate that no other candidate beats", () => {
  const any = fc.record({
    status: fc.constantFrom("active" as const, "drain" as const),
    heard_at: fc.constantFrom(NOW, NOW - 200_000),
    in_flight: fc.nat(4),
    max_concurrent: fc.nat(4),
    disk_pct: fc.constantFrom(10, 95),
  });
  fc.assert(
    fc.property(
      fc.array(any, { maxLength: 8 }),
      fc.noShrink(fc.double({ min: 0, max: 0.999, noNaN: true })),
      (list, r) => {
        const workers = list.map((more) => worker(more));
        const candidates = workers.filter((w) => isCandidate(w, NOW));
        const chosen = chooseWorker(workers, NOW, () => r);
        if (candidates.length === 0) return expect(chosen).toBeNull();
        expect(candidates).toContain(chosen as Candidate);
        const best = Math.min(...candidates.map((w) => w.in_flight));
        expect(chosen?.in_flight).toBe(best);
        const larger = candidates.filter((w) => w.in_flight === best).map((w) => w.max_concurrent);
        expect(chosen?.max_concurrent).toBe(Math.max(...larger));
      },
    ),
  );
});

test("in a large fleet the idle workers with the most lanes are chosen alike, and no other (rules/scheduling#order-of-candidates)", () => {
  const large = Array.from({ length: 40 }, () => worker({ max_concurrent: 4 }));
  const others = [
    ...Array.from({ length: 40 }, () => worker({ max_concurrent: 2 })),
    ...Array.from({ length: 20 }, () => worker({ max_concurrent: 4, in_flight: 1 })),
    ...Array.from({ length: 20 }, () => worker({ max_concurrent: 4, status: "drain" as const })),
  ];
  const all = [...others, ...large];
  const rounds = 40_000;
  const counts = new Map<Candidate, number>();
  for (let i = 0; i < rounds; i += 1) {
    const chosen = chooseWorker(all, NOW, Math.random);
    if (chosen) counts.set(chosen, (counts.get(chosen) ?? 0) + 1);
  }
  expect(others.some((one) => counts.has(one))).toBe(false);
  // 1,000 each on average, with a deviation of 31: a fifth more or less is six of them.
  for (const one of large) expect(Math.abs((counts.get(one) ?? 0) - 1_000)).toBeLessThan(200);
  expect(chooseWorker(all, NOW, Math.random, (one) => one === others[0])).toBe(
    others[0] as Candidate,
  );
});
