import type { Bench, Figure } from "../harness.ts";
import { statsOf } from "../harness.ts";
import { DIALECTS, type Dialect, openStores, SHOWN, type Stores, startControl } from "./control.ts";
import { addWorkload, openPuller, PAYLOAD, SLUG } from "./load.ts";
import { installPeers, type Peer, runPeer } from "./peers.ts";
import { leftOut } from "./rates.ts";
import { openWire } from "./wire.ts";

const PEERS: { peer: Peer; name: string }[] = [
  { peer: "graphile", name: "graphile-worker" },
  { peer: "pg-boss", name: "pg-boss, listen/notify" },
  { peer: "bullmq", name: "BullMQ" },
  { peer: "plainjob", name: "plainjob" },
];
const TARGETS: Record<Dialect, string> = {
  sqlite: "p50 ≤ 1 ms, p99 ≤ 3 ms",
  postgres: "p50 ≤ 2 ms, p99 ≤ 10 ms",
};
const WARM = 50;
/** Until the worker waits again. */
const PAUSE_MS = 5;

/** Submit to start on an idle machine: from sending the task to a waiting worker having it. */
export const pickup: Bench = async ({ runs, tiny }) => {
  const stores = await openStores();
  const samples = tiny ? 5 : Math.max(100, runs * 50);
  try {
    const figures: Figure[] = [];
    const ours = new Map<Dialect, number[]>();
    for (const dialect of DIALECTS) {
      const times = await pickupTimes(stores, dialect, samples, tiny ? 2 : WARM);
      ours.set(dialect, times);
      const metric = `submit → start, idle, ${SHOWN[dialect]}`;
      figures.push({ bench: "pickup", metric, value: showTimes(times), target: TARGETS[dialect] });
    }
    if (tiny) return [...figures, leftOut("pickup")];
    await installPeers();
    for (const { peer, name } of PEERS) {
      // It looks for work once a second: 30 samples are half a minute.
      const tasks = peer === "plainjob" ? 30 : samples;
      const { times = [] } = await runPeer(stores, peer, { scenario: "pickup", tasks });
      for (const [dialect, own] of ours)
        figures.push({
          bench: "pickup",
          metric: `submit → start, idle, ${SHOWN[dialect]} ÷ ${name}, p50`,
          value: showTimes(own),
          reference: showTimes(times),
          ratio: statsOf(own).median / statsOf(times).median,
          target: "–",
        });
    }
    return figures;
  } finally {
    await stores.stop();
  }
};

async function pickupTimes(stores: Stores, dialect: Dialect, n: number, warm: number) {
  const control = await startControl(await stores.fresh(dialect));
  try {
    await addWorkload(control);
    const puller = await openPuller(control);
    const wire = await openWire(control.url);
    const times: number[] = [];
    for (let i = 0; i < n + warm; i += 1) {
      const waiting = puller.exchange([], 1, 10_000).then((tasks) => ({
        tasks,
        at: performance.now(),
      }));
      await Bun.sleep(PAUSE_MS);
      const body = JSON.stringify({ pk: `task-${i}`, extra: PAYLOAD });
      const sent = performance.now();
      const submitted = wire.post(`/api/v1/workloads/${SLUG}/tasks`, body);
      const { tasks, at } = await waiting;
      await submitted;
      await puller.exchange(tasks, 0);
      if (i >= warm) times.push(at - sent);
    }
    puller.close();
    wire.close();
    return times;
  } finally {
    await control.stop();
  }
}

function showTimes(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (q: number) => (sorted[Math.floor(q * (sorted.length - 1))] ?? Number.NaN).toFixed(2);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (n=${times.length})`;
}
