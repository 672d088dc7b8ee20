import { expect, test } from "bun:test";
import { createLog } from "#shared/kit/log.ts";
import { createWallJumps } from "#shared/kit/wall-jumps.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

const HOUR_MS = 3_600_000;
const rig = () => {
  const clock = createFakeClock();
  const lines: { message: string; jumped_ms: number }[] = [];
  const log = createLog("debug", (line) => lines.push(JSON.parse(line)));
  return { clock, lines, jumps: createWallJumps(clock, log) };
};

test("without a jump, what is older than so long was stored before so long", async () => {
  const { clock, jumps, lines } = rig();
  await clock.advance(1_000_000);
  expect(jumps.olderThan(180_000)).toBe(clock.now() - 180_000);
  expect(lines).toEqual([]);
});

test("after a jump forward the age of what was stored before it goes on from where it was", async () => {
  const { clock, jumps, lines } = rig();
  await clock.advance(1_000_000);
  const stored_at = clock.now();
  await clock.advance(60_000);
  clock.jump(HOUR_MS);
  expect(stored_at <= jumps.olderThan(180_000)).toBe(false);
  await clock.advance(119_999);
  expect(stored_at <= jumps.olderThan(180_000)).toBe(false);
  await clock.advance(1);
  expect(stored_at <= jumps.olderThan(180_000)).toBe(true);
  // What was stored after it is as old as it is.
  expect(clock.now() - 100_000 <= jumps.olderThan(180_000)).toBe(false);
  expect(lines.map(({ jumped_ms }) => jumped_ms)).toEqual([HOUR_MS]);
  expect(lines[0]?.message).toContain("jumped forward by 3600 s");
});

test("after a jump back nothing counts as older than it is", async () => {
  const { clock, jumps, lines } = rig();
  await clock.advance(1_000_000);
  clock.jump(-HOUR_MS);
  const stored_at = clock.now();
  await clock.advance(179_999);
  expect(stored_at <= jumps.olderThan(180_000)).toBe(false);
  await clock.advance(1);
  expect(stored_at <= jumps.olderThan(180_000)).toBe(true);
  expect(lines[0]?.message).toContain("jumped back by 3600 s");
});

test("what is stored has the age that it has, whatever the clock did before and after it", async () => {
  const { clock, jumps } = rig();
  await clock.advance(1_000_000);
  const first = clock.now();
  await clock.advance(5_000);
  expect(jumps.ageOf(first)).toBe(5_000);
  clock.jump(HOUR_MS);
  expect(jumps.ageOf(first)).toBe(5_000);
  const second = clock.now();
  await clock.advance(10_000);
  expect([first, second].map(jumps.ageOf)).toEqual([15_000, 10_000]);
  clock.jump(-2 * HOUR_MS);
  expect([first, second].map(jumps.ageOf)).toEqual([15_000, 10_000]);
  const third = clock.now();
  await clock.advance(20_000);
  expect([first, second, third].map(jumps.ageOf)).toEqual([35_000, 30_000, 20_000]);
  // Another machine's clock may be a little ahead.
  expect(jumps.ageOf(clock.now() + 1_000)).toBe(0);
});

test("what was stored after a jump that nobody had noticed yet is as old as it is", async () => {
  for (const by of [HOUR_MS, -HOUR_MS]) {
    const { clock, jumps } = rig();
    await clock.advance(1_000_000);
    clock.jump(by);
    const stored = clock.now();
    await clock.advance(4_000);
    expect(jumps.ageOf(stored)).toBe(4_000);
  }
});

test("a clock that is steered by less than a second between two looks has not jumped", async () => {
  const { clock, jumps, lines } = rig();
  for (let i = 0; i < 100; i += 1) {
    clock.jump(900);
    await clock.advance(5_000);
    jumps.look();
  }
  expect(lines).toEqual([]);
  // It has gone 90 s ahead all the same: an age may be that much too small for a while, never too large.
  expect(jumps.olderThan(10_000)).toBeLessThanOrEqual(clock.now() - 10_000);
});
