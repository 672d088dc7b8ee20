import { describe, expect, test } from "bun:test";
import { createRateWindows } from "#hub/pipeline/queue/rate-windows.ts";
import { createReadyHints, lookAgain } from "#hub/pipeline/queue/ready-hints.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

/** A claim that waits for workload 1 until it is woken. */
function waiter(hints: ReturnType<typeof createReadyHints>) {
  const woken = { yes: false };
  hints.onWork(() => {
    if (woken.yes) return false;
    woken.yes = true;
    return true;
  });
  return woken;
}

describe("what is known of ready work", () => {
  test("new work wakes nobody while the limits hold its workload; a free place wakes one", () => {
    const hints = createReadyHints();
    hints.add(1, 5);
    expect(hints.hold(1, hints.mark(1), "in_flight")).toBe(true);
    const waiting = [waiter(hints), waiter(hints)];
    hints.add(1, 5);
    expect([hints.has(1), hints.heldBy(1)]).toEqual([false, "in_flight"]);
    expect(waiting.map(({ yes }) => yes)).toEqual([false, false]);
    hints.open(1, 1);
    expect([hints.has(1), hints.heldBy(1)]).toEqual([true, null]);
    expect(waiting.map(({ yes }) => yes)).toEqual([true, false]);
  });

  test("a place that was freed while a claim was on its way is not lost, with or without known work", () => {
    const hints = createReadyHints();
    hints.add(1, 5);
    const mark = hints.mark(1);
    hints.open(1, 1);
    expect(hints.hold(1, mark, "in_flight")).toBe(false);
    expect(hints.has(1)).toBe(true);
    const later = hints.mark(1);
    hints.empty(1, later);
    hints.open(1, 1);
    hints.add(1, 1);
    expect(hints.hold(1, later, "in_flight")).toBe(false);
    expect(hints.has(1)).toBe(true);
  });

  test("work that was told of while a claim was on its way stays known", () => {
    const hints = createReadyHints();
    hints.add(1, 5);
    const mark = hints.mark(1);
    hints.add(1, 5);
    hints.empty(1, mark);
    expect(hints.has(1)).toBe(true);
    hints.empty(1, hints.mark(1));
    expect(hints.has(1)).toBe(false);
  });

  test("places that a claim left wake others only when tasks were held back", () => {
    const hints = createReadyHints();
    hints.add(1, 1);
    const waiting = [waiter(hints), waiter(hints)];
    hints.left(1, 2);
    expect(waiting.map(({ yes }) => yes)).toEqual([false, false]);
    hints.hold(1, hints.mark(1), "rate");
    hints.open(1, 1);
    hints.left(1, 2);
    expect(waiting.map(({ yes }) => yes)).toEqual([true, true]);
  });

  test("when anything of the workload may have changed, every claim that waits looks again", () => {
    const hints = createReadyHints();
    hints.add(1, 1);
    hints.hold(1, hints.mark(1), "rate");
    const waiting = [waiter(hints), waiter(hints)];
    lookAgain(hints, 1);
    expect(waiting.map(({ yes }) => yes)).toEqual([true, true]);
    expect(hints.has(1)).toBe(true);
  });
});

test("a workload has one timer, for the earliest opening it waits for; none after the stop", async () => {
  const clock = createFakeClock();
  const stopping = new AbortController();
  const windows = createRateWindows(clock, stopping.signal);
  const opened: string[] = [];
  windows.openIn(1, 100, () => opened.push("at 100"));
  windows.openIn(1, 200, () => opened.push("at 200"));
  windows.openIn(1, 50, () => opened.push("at 50"));
  windows.openIn(2, 60, () => opened.push("2 at 60"));
  expect(clock.sleepers()).toEqual([50, 60]);
  await clock.advance(300);
  expect(opened).toEqual(["at 50", "2 at 60"]);
  windows.openIn(1, 100, () => opened.push("after the stop"));
  stopping.abort();
  await clock.advance(300);
  expect(opened).toHaveLength(2);
});
