import type { Bench } from "../harness.ts";
import { type Dialect, type Stores, startControl } from "./control.ts";
import { addWorkload, batchBodies, drainWith, requireDrained, submitBodies } from "./load.ts";
import { compareRates, type PeerLine } from "./rates.ts";

/** Two keep the control plane busy on SQLite; on Postgres what eight ask while a commit is on its way shares the next. */
const CLIENTS: Record<Dialect, number> = { sqlite: 2, postgres: 8 };

const PEERS: PeerLine[] = [
  {
    peer: "graphile",
    name: "graphile-worker, local queue 500, batched completion",
    variant: "batched",
  },
  { peer: "graphile", name: "graphile-worker, defaults", variant: "defaults" },
  { peer: "pg-boss", name: "pg-boss, batch 100", variant: "100" },
  { peer: "pg-boss", name: "pg-boss, batch 500", variant: "500" },
  { peer: "bullmq", name: "BullMQ, concurrency 10", variant: "10" },
  { peer: "bullmq", name: "BullMQ, concurrency 100", variant: "100" },
  { peer: "plainjob", name: "plainjob" },
];

interface Drain {
  batch: number;
  clients: Record<Dialect, number>;
  tasks: number;
  warm: number;
}

/** Tasks per second from the first claim until every run is recorded, over HTTP. */
export async function drainRate(stores: Stores, dialect: Dialect, how: Drain): Promise<number> {
  const control = await startControl(await stores.fresh(dialect));
  try {
    await addWorkload(control, { batch_size: how.batch });
    await submitBodies(control, batchBodies(how.warm, {}, how.tasks));
    await drainWith(control, how.clients[dialect]);
    await submitBodies(control, batchBodies(how.tasks));
    const start = performance.now();
    const drained = await drainWith(control, how.clients[dialect]);
    const rate = (drained / (performance.now() - start)) * 1_000;
    await requireDrained(control, how.warm + how.tasks);
    return rate;
  } finally {
    await control.stop();
  }
}

/** Claims and reports in one call of 100 tasks each; every task leaves a run row. The peers keep none but pg-boss. */
export const drain: Bench = (options) => {
  const tasks = options.tiny ? 1_000 : 50_000;
  const warm = options.tiny ? 100 : 10_000;
  return compareRates(options, {
    bench: "drain",
    metric: "batch 100 over HTTP, with run rows",
    targets: {
      sqlite: "≥ 100,000/s",
      postgres: "≥ graphile-worker batched × 0.9, ≥ pg-boss × 2",
    },
    scenario: "drain",
    tasks,
    peers: PEERS,
    ours: (stores, dialect) =>
      drainRate(stores, dialect, { batch: 100, clients: CLIENTS, tasks, warm }),
  });
};

/** One task in each call, 24 clients. */
export const claim: Bench = (options) => {
  const tasks = options.tiny ? 200 : 20_000;
  const warm = options.tiny ? 100 : 10_000;
  return compareRates(options, {
    bench: "claim",
    metric: "one task a call, 24 clients",
    targets: { sqlite: "≥ 20,000/s", postgres: "≥ graphile-worker defaults × 1.5" },
    scenario: "drain",
    tasks,
    peers: PEERS.filter(({ variant }) => variant === "defaults" || variant === "10" || !variant),
    ours: (stores, dialect) =>
      drainRate(stores, dialect, { batch: 1, clients: { sqlite: 24, postgres: 24 }, tasks, warm }),
  });
};
