import { describe, expect, test } from "bun:test";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { createLeapingClock } from "#test/support/fakes/leaping-clock.ts";
import { watchPulse } from "#worker/browser/fetch/pulse.ts";
import { STALL_MS } from "#worker/browser/record/activity.ts";
import type { Tracked } from "#worker/browser/record/targets.ts";

/** A target that answers while it is not busy. */
function openTarget(type: string) {
  let free = Promise.resolve();
  let asked = 0;
  const send = async () => {
    asked += 1;
    await free;
  };
  const target = { type, doomed: false, session: { send } } as unknown as Tracked;
  return {
    target,
    asked: () => asked,
    /** Busy until the function that it gives back is called. */
    block: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      free = promise;
      return resolve;
    },
  };
}

function watch(targets: Tracked[], navigating: Tracked[] = []) {
  const clock = createFakeClock();
  const end = new AbortController();
  let awake = 0;
  const deps = {
    clock,
    targets: () => targets,
    isNavigating: (target: Tracked) => navigating.includes(target),
    onAwake: () => {
      awake += 1;
    },
  };
  const pulse = watchPulse(deps, 3_000, end.signal);
  const answered = () => {
    let over = false;
    void pulse.answered().then(() => {
      over = true;
    });
    return () => over;
  };
  return { clock, pulse, end, answered, awake: () => awake };
}

describe("the pulse of a job's pages", () => {
  test("a page that answers is asked a few times in a second, and nothing follows", async () => {
    const page = openTarget("page");
    const { clock, answered, awake, pulse, end } = watch([page.target]);
    await clock.advance(1_000);
    expect(page.asked()).toBe(5);
    const over = answered();
    await clock.advance(0);
    expect(over()).toBe(true);
    expect(awake()).toBe(0);
    expect(pulse.mute()).toEqual([]);
    end.abort();
    await clock.advance(1_000);
    expect(page.asked()).toBe(6);
  });

  test("a busy page is waited for, and what it was kept from may come when it answers", async () => {
    const page = openTarget("page");
    const { clock, answered, awake } = watch([page.target]);
    await clock.advance(100);
    const release = page.block();
    await clock.advance(5_000);
    const over = answered();
    await clock.advance(1_000);
    expect(over()).toBe(false);
    release();
    await clock.advance(0);
    expect(over()).toBe(true);
    expect(awake()).toBe(1);
  });

  test("a page that was busy for a moment is not told of", async () => {
    const page = openTarget("page");
    const { clock, awake } = watch([page.target]);
    const release = page.block();
    await clock.advance(900);
    release();
    await clock.advance(1_000);
    expect(awake()).toBe(0);
  });

  test("a mute page is given up after 20 s, a mute worker after 5, and heard again when they answer", async () => {
    const page = openTarget("page");
    const worker = openTarget("worker");
    const [free, wake] = [page.block(), worker.block()];
    const { clock, answered, awake, pulse } = watch([page.target, worker.target]);
    const over = answered();
    await clock.advance(5_000);
    expect(pulse.mute()).toEqual([worker.target]);
    await clock.advance(STALL_MS - 5_001);
    expect(over()).toBe(false);
    await clock.advance(1);
    expect(over()).toBe(true);
    expect(pulse.mute()).toEqual([worker.target, page.target]);
    wake();
    free();
    await clock.advance(0);
    expect(pulse.mute()).toEqual([]);
    expect(awake()).toBe(2);
  });

  test("a machine that stood still was not silent, whatever its pages answer (rules/capture#network-silence)", async () => {
    const clock = createLeapingClock();
    const end = new AbortController();
    let awake = 0;
    const deps = {
      clock,
      targets: () => [openTarget("page").target],
      isNavigating: () => false,
      onAwake: () => {
        awake += 1;
      },
    };
    watchPulse(deps, 3_000, end.signal);
    const leap = async (ms: number) => {
      clock.leap(ms);
      await new Promise((resolve) => setImmediate(resolve));
    };
    for (let i = 0; i < 8; i += 1) await leap(500);
    expect(awake).toBe(0);
    await leap(10_000);
    expect(awake).toBe(1);
    end.abort();
    await leap(10_000);
    expect(awake).toBe(1);
  });

  test("neither a page on its way to another document nor a service worker is asked", async () => {
    const page = openTarget("page");
    const worker = openTarget("service_worker");
    const { clock, answered } = watch([page.target, worker.target], [page.target]);
    const over = answered();
    await clock.advance(1_000);
    expect(over()).toBe(true);
    expect(page.asked() + worker.asked()).toBe(0);
  });
});
