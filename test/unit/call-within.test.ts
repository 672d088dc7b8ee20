import { expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { callWithin, windUpWithin } from "#shared/kit/call-within.ts";
import { type Clock, DeadlineError, systemClock } from "#shared/kit/clock.ts";
import { createFakeClock } from "../support/fakes/fake-clock.ts";

const limit = { what: "the answer", ms: 500 };
const LATE = new DeadlineError("the answer", 500);
/** Ends when its signal aborts, as a request does. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
const never = () => new Promise<never>(() => {});
const thrown = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "nothing was thrown",
    (err) => err,
  );
const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

/** A promise that nobody handles is told to the process after the callbacks that are due. */
async function unhandledDuring(act: () => Promise<void>): Promise<unknown[]> {
  const found: unknown[] = [];
  const hear = (reason: unknown) => found.push(reason);
  process.on("unhandledRejection", hear);
  try {
    await act();
    for (let turn = 0; turn < 5; turn += 1)
      await new Promise<void>((resolve) => setImmediate(resolve));
  } finally {
    process.off("unhandledRejection", hear);
  }
  return found;
}

/** The clock of the system, for which timers are set without a signal, and one that stands still until it is moved. */
const clocks: [string, () => { clock: Clock; ms: number; pass(): Promise<void> }][] = [
  [
    "a fake clock",
    () => {
      const clock = createFakeClock();
      return { clock, ms: 500, pass: () => clock.advance(500) };
    },
  ],
  ["the system's clock", () => ({ clock: systemClock, ms: 20, pass: async () => {} })],
];

for (const [name, open] of clocks) {
  test(`${name}: a call that ends in time has its answer`, async () => {
    const { clock, ms } = open();
    expect(await callWithin(clock, { what: "the answer", ms }, async () => 42)).toBe(42);
  });

  test(`${name}: a call that throws in time has thrown that`, async () => {
    const { clock, ms } = open();
    const refused = new Error("refused");
    const calls = [
      () => Promise.reject(refused),
      () => {
        throw refused;
      },
    ];
    for (const work of calls)
      expect(await thrown(callWithin(clock, { what: "the answer", ms }, work))).toBe(refused);
  });

  test(`${name}: the signal of a call that takes too long aborts with what the caller is told`, async () => {
    const { clock, ms, pass } = open();
    let reason: unknown;
    const called = thrown(
      callWithin(clock, { what: "the answer", ms }, (signal) =>
        untilAborted(signal).catch((err) => {
          reason = err;
          throw new Error("the request failed");
        }),
      ),
    );
    await pass();
    const late = await called;
    expect(late).toBeInstanceOf(DeadlineError);
    expect(late).toEqual(new DeadlineError("the answer", ms));
    expect(reason).toBe(late);
  });

  test(`${name}: a call that ignores its signal is given up in time`, async () => {
    const { clock, ms, pass } = open();
    const called = thrown(callWithin(clock, { what: "the answer", ms }, never));
    await pass();
    expect(await called).toEqual(new DeadlineError("the answer", ms));
  });

  test(`${name}: whoever ends the call before says why`, async () => {
    const { clock, ms } = open();
    const outer = new AbortController();
    const reason = new Error("the hub stops");
    const signal = outer.signal;
    let told: AbortSignal | undefined;
    const called = thrown(
      callWithin(clock, { what: "the answer", ms, signal }, (inner) => {
        told = inner;
        return never();
      }),
    );
    outer.abort(reason);
    expect(await called).toBe(reason);
    expect(told?.reason).toBe(reason);
    expect(listeners(signal)).toBe(0);
  });
}

test("a call whose end is known before it begins does nothing", async () => {
  const clock = createFakeClock();
  const reason = new Error("the hub stops");
  const signal = AbortSignal.abort(reason);
  let calls = 0;
  const called = callWithin(clock, { ...limit, signal }, async () => {
    calls += 1;
  });
  expect(await thrown(called)).toBe(reason);
  expect(calls).toBe(0);
  expect(clock.sleepers()).toEqual([]);
});

test("no timer and no listener is left of a call, however it ends", async () => {
  const clock = createFakeClock();
  const { signal } = new AbortController();
  const during: number[][] = [];
  const look = () => during.push([clock.sleepers().length, listeners(signal)]);
  await callWithin(clock, { ...limit, signal }, async () => look());
  await thrown(
    callWithin(clock, { ...limit, signal }, async () => {
      look();
      throw new Error("refused");
    }),
  );
  expect(during).toEqual([
    [1, 1],
    [1, 1],
  ]);
  expect(clock.sleepers()).toEqual([]);
  expect(listeners(signal)).toBe(0);
  const late = thrown(callWithin(clock, { ...limit, signal }, never));
  await clock.advance(500);
  expect(await late).toEqual(LATE);
  expect(clock.sleepers()).toEqual([]);
  expect(listeners(signal)).toBe(0);
});

test("what still goes by the signal of a call that has ended ends with it, and neither time nor caller do so later", async () => {
  const clock = createFakeClock();
  const outer = new AbortController();
  const reasons: unknown[] = [];
  const unhandled = await unhandledDuring(async () => {
    const answer = await callWithin(clock, { ...limit, signal: outer.signal }, async (signal) => {
      signal.addEventListener("abort", () => reasons.push(signal.reason));
      return "here";
    });
    expect(answer).toBe("here");
    await clock.advance(1_000);
    outer.abort(new Error("the hub stops"));
  });
  expect(reasons).toEqual([new Error("the call has ended: its answer is read inside of it")]);
  expect(unhandled).toEqual([]);
});

test("what a call throws after it was given up is nobody's to handle", async () => {
  const clock = createFakeClock();
  const answer = Promise.withResolvers<never>();
  const unhandled = await unhandledDuring(async () => {
    const called = thrown(callWithin(clock, limit, () => answer.promise));
    await clock.advance(500);
    expect(await called).toEqual(LATE);
    answer.reject(new Error("the connection was closed"));
  });
  expect(unhandled).toEqual([]);
});

test("a call that ends its own caller and throws has thrown why it was ended", async () => {
  const outer = new AbortController();
  const reason = new Error("the hub stops");
  const unhandled = await unhandledDuring(async () => {
    const called = callWithin(createFakeClock(), { ...limit, signal: outer.signal }, () => {
      outer.abort(reason);
      throw new Error("refused");
    });
    expect(await thrown(called)).toBe(reason);
  });
  expect(unhandled).toEqual([]);
});

test("an answer that came while the process stood still is in time", async () => {
  const answer = Promise.withResolvers<string>();
  const called = callWithin(systemClock, { what: "the answer", ms: 20 }, () => answer.promise);
  Bun.sleepSync(1_100);
  // Sockets are read after the timers that are due.
  setTimeout(() => answer.resolve("here"), 0);
  expect(await called).toBe("here");
});

test("work that is to wind up is waited for after its time, and its end is the answer", async () => {
  const clock = createFakeClock();
  const tidy = Promise.withResolvers<void>();
  const steps: string[] = [];
  const ended = windUpWithin(clock, limit, async (signal) => {
    await untilAborted(signal).catch((err) => steps.push(err.message));
    await tidy.promise;
    return "half of it";
  }).finally(() => steps.push("over"));
  await clock.advance(500);
  expect(steps).toEqual([LATE.message]);
  tidy.resolve();
  expect(await ended).toBe("half of it");
});

test("work that is to wind up learns that its end was known before it began", async () => {
  const clock = createFakeClock();
  const reason = new Error("the hub stops");
  const signal = AbortSignal.abort(reason);
  const told = await windUpWithin(clock, { ...limit, signal }, async (inner) => inner.reason);
  expect(told).toBe(reason);
  expect([clock.sleepers().length, listeners(signal)]).toEqual([0, 0]);
});
