import type { RateLimit } from "#shared/protocol/schema/workload.ts";
import type { Bench, Figure } from "../harness.ts";
import { statsOf } from "../harness.ts";
import {
  type ControlProcess,
  DIALECTS,
  type Dialect,
  openStores,
  SHOWN,
  type Stores,
  startControl,
} from "./control.ts";
import { addWorkload, batchBodies, openPuller, submitBodies } from "./load.ts";

const LIMITS: RateLimit[] = [
  { count: 1, per_s: 0.1 },
  { count: 20, per_s: 0.2 },
  { count: 100, per_s: 1 },
  { count: 1_000, per_s: 1 },
];
const TASK_MS = 1;
const WAIT_MS = 5_000;
const WORKERS = 4;

/** `max_in_flight: 1` beside one slot without a limit, and rate limits beside their own rate. */
export const limits: Bench = async ({ runs, tiny }) => {
  const stores = await openStores();
  try {
    const figures: Figure[] = [];
    for (const dialect of DIALECTS) {
      figures.push(await oneInFlight(stores, dialect, tiny ? 20 : 500, runs));
      for (const limit of tiny ? LIMITS.slice(0, 1) : LIMITS)
        figures.push(await rateOf(stores, dialect, limit, tiny ? 300 : 30_000));
    }
    return figures;
  } finally {
    await stores.stop();
  }
};

/** Tasks of 1 ms, one after the other: with two workers of two slots and a limit, and with one slot and none. */
async function oneInFlight(
  stores: Stores,
  dialect: Dialect,
  tasks: number,
  runs: number,
): Promise<Figure> {
  const limited: number[] = [];
  const free: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    free.push(await workedOff(stores, dialect, tasks, { workers: 1, slots: 1 }));
    const fields = { max_in_flight: 1 };
    limited.push(await workedOff(stores, dialect, tasks, { workers: 2, slots: 2, fields }));
  }
  return {
    bench: "limits",
    metric: `max_in_flight 1 ÷ one slot without a limit, ${SHOWN[dialect]}`,
    value: `${statsOf(limited).median.toFixed(0)}/s`,
    reference: `${statsOf(free).median.toFixed(0)}/s`,
    ratio: statsOf(limited).median / statsOf(free).median,
    target: "≥ 0.8",
    raw: { limited, free },
  };
}

interface Crew {
  workers: number;
  slots: number;
  fields?: Record<string, unknown>;
}

/** Tasks per second until all are done. */
async function workedOff(stores: Stores, dialect: Dialect, tasks: number, crew: Crew) {
  const control = await startControl(await stores.fresh(dialect));
  try {
    await addWorkload(control, crew.fields);
    await submitBodies(control, batchBodies(tasks));
    let done = 0;
    const start = performance.now();
    await pullWith(control, crew, (n) => {
      done += n;
      return done >= tasks;
    });
    return (tasks / (performance.now() - start)) * 1_000;
  } finally {
    await control.stop();
  }
}

/** Claims of a limited workload over `ms`, beside its rate; and how late timers of its window come meanwhile. */
async function rateOf(stores: Stores, dialect: Dialect, limit: RateLimit, ms: number) {
  const { count, per_s } = limit;
  const control = await startControl(await stores.fresh(dialect));
  try {
    // A worker takes no more than a tenth of the window at once.
    const batch_size = Math.max(1, Math.floor(count / 10));
    await addWorkload(control, { rate_limit: limit, batch_size });
    const asked = Math.ceil((ms / 1_000 / per_s + 3) * count);
    await submitBodies(control, batchBodies(asked));
    let claims = 0;
    let over = false;
    const lateness = timerLateness(per_s * 1_000, () => over);
    let start = 0;
    await pullWith(control, { workers: WORKERS, slots: 1 }, (n) => {
      start ||= performance.now();
      over = performance.now() - start >= ms;
      if (!over) claims += n;
      return over;
    });
    over = true;
    const rate = count / per_s;
    const late_ms = await lateness;
    return {
      bench: "limits",
      metric: `rate_limit ${count} in ${per_s} s over ${ms / 1_000} s ÷ its rate, ${SHOWN[dialect]}`,
      value: `${((claims / ms) * 1_000).toFixed(1)}/s`,
      reference: `${rate.toFixed(1)}/s; a timer of ${per_s} s alone ${(1 / (1 + late_ms / (per_s * 1_000))).toFixed(3)} of it`,
      ratio: ((claims / ms) * 1_000) / rate,
      target: "0.95–1.05",
    } satisfies Figure;
  } finally {
    await control.stop();
  }
}

/** By how much timers are late on this machine right now, in ms: the mean until `over`. */
async function timerLateness(ms: number, over: () => boolean): Promise<number> {
  let late = 0;
  let n = 0;
  while (!over()) {
    const start = performance.now();
    await Bun.sleep(ms);
    late += performance.now() - start - ms;
    n += 1;
  }
  return n === 0 ? 0 : late / n;
}

/** Pullers that take tasks, work on them for a millisecond and report them with the next claim, until `enough`. */
async function pullWith(
  control: ControlProcess,
  { workers, slots }: Crew,
  enough: (claimed: number) => boolean,
): Promise<void> {
  let over = false;
  const pullers = await Promise.all(Array.from({ length: workers }, () => openPuller(control)));
  const pull = async (puller: (typeof pullers)[number]) => {
    let done: Awaited<ReturnType<typeof puller.exchange>> = [];
    while (!over) {
      const tasks = await puller.exchange(done, slots, done.length > 0 ? 0 : WAIT_MS);
      if (tasks.length > 0) await Bun.sleep(TASK_MS);
      over ||= enough(tasks.length);
      done = tasks;
    }
    await puller.exchange(done, 0);
  };
  try {
    await Promise.race(pullers.map(pull));
  } finally {
    // Who waits for work that does not come any more is not waited for.
    for (const puller of pullers) puller.close();
  }
}
