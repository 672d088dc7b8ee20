import type { Bench } from "../harness.ts";
import { statsOf } from "../harness.ts";
import type { Dialect } from "./control.ts";
import {
  type ControlProcess,
  DIALECTS,
  openStores,
  SHOWN,
  type Stores,
  startControl,
} from "./control.ts";
import {
  addWorkload,
  batchBodies,
  claimed,
  drainFor,
  openPuller,
  SLUG,
  submitBodies,
} from "./load.ts";
import { showRate } from "./rates.ts";

const CLIENTS: Record<Dialect, number> = { sqlite: 2, postgres: 8 };
/** Tasks that are drained, on the empty table and out of the backlog. */
const SAMPLE = 30_000;
/** Clients claim whole batches, so they may take more than they were asked for. */
const SPARE = 5_000;
const TOMORROW_MS = 86_400_000;

/** What a backlog costs: the drain rate with a million ready, 100,000 delayed and 100,000 failed tasks in the table. */
export const backlog: Bench = async ({ runs, tiny }) => {
  const size = tiny ? 5_000 : 1_000_000;
  const sample = tiny ? 500 : SAMPLE;
  const stores = await openStores();
  try {
    const figures = [];
    // Filling the table takes minutes: fewer runs than the other benchmarks.
    const times = Math.min(runs, 3);
    for (const dialect of DIALECTS) {
      const empty: number[] = [];
      const full: number[] = [];
      for (let run = 0; run < times; run += 1) {
        const { before, after } = await bothRates(stores, dialect, size, sample);
        empty.push(before);
        full.push(after);
      }
      figures.push({
        bench: "backlog",
        metric: `drain out of ${size.toLocaleString("en")} ready, a tenth each delayed and failed, ${SHOWN[dialect]}`,
        value: showRate(full),
        reference: `empty table ${showRate(empty)}`,
        ratio: statsOf(full).median / statsOf(empty).median,
        target: "≥ 0.80",
      });
    }
    return figures;
  } finally {
    await stores.stop();
  }
};

async function bothRates(stores: Stores, dialect: Dialect, size: number, sample: number) {
  const control = await startControl(await stores.fresh(dialect));
  try {
    await addWorkload(control, { batch_size: 100, max_attempts: 1 });
    const rate = () => drainFor(control, CLIENTS[dialect], sample);
    await submitBodies(control, batchBodies(sample * 2 + SPARE, {}, 10 * size));
    await rate();
    const before = await rate();
    await failTasks(control, size / 10);
    const run_at = new Date(Date.now() + TOMORROW_MS).toISOString();
    await submitBodies(control, batchBodies(size / 10, { run_at }, 2 * size));
    await submitBodies(control, batchBodies(size));
    await rate();
    return { before, after: await rate() };
  } finally {
    await control.stop();
  }
}

/** Fails `n` tasks for good, over the workers' own call. */
async function failTasks(control: ControlProcess, n: number): Promise<void> {
  await submitBodies(control, batchBodies(n, {}, 20 * n));
  const puller = await openPuller(control);
  for (let failed = 0; failed < n; ) {
    const tasks = await claimed(puller, 10);
    if (tasks.length === 0) throw new Error("tasks are missing");
    await puller.fail(tasks, SLUG);
    failed += tasks.length;
  }
  puller.close();
}
