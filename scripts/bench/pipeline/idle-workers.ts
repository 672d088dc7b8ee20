import { humanSize } from "#shared/kit/words.ts";
import { PULL_HEARTBEAT_MS } from "#shared/protocol/schema/pull.ts";
import { rssOf } from "#test/support/rigs/fleet-process.ts";
import type { Bench, Figure } from "../harness.ts";
import { cpuSeconds } from "../process-cpu.ts";
import { DIALECTS, openStores, SHOWN, startControl } from "./control.ts";
import { addWorkload, openPuller, type Puller } from "./load.ts";

const WAIT_MS = 30_000;

/** A thousand workers that wait for work and send their heartbeats: what the control plane spends on nothing. */
export const idleWorkers: Bench = async ({ tiny }) => {
  const workers = tiny ? 20 : 1_000;
  const seconds = tiny ? 1 : 30;
  const stores = await openStores();
  const figures: Figure[] = [];
  try {
    for (const dialect of DIALECTS) {
      const control = await startControl(await stores.fresh(dialect));
      try {
        await addWorkload(control);
        const without = await cpuShare(control.pid, tiny ? 1 : 5);
        const pullers: Puller[] = [];
        for (let i = 0; i < workers; i += 1) pullers.push(await openPuller(control));
        let over = false;
        const waiting = pullers.map(async (puller) => {
          while (!over) await puller.exchange([], 1, WAIT_MS);
        });
        for (const wait of waiting) wait.catch(() => {});
        await Bun.sleep(tiny ? 200 : 5_000);
        const share = await cpuShare(control.pid, seconds);
        const beating = beatAll(pullers, () => over);
        const beats = await cpuShare(control.pid, seconds);
        const rss = rssOf(control.pid);
        over = true;
        await beating;
        for (const puller of pullers) puller.close();
        figures.push({
          bench: "idle-workers",
          metric: `${workers.toLocaleString("en")} waiting workers, claims renewed every 30 s, ${SHOWN[dialect]}`,
          value: `${(share * 100).toFixed(1)} % of one core, ${humanSize(rss)}`,
          reference: `no worker ${(without * 100).toFixed(1)} %`,
          target: "≤ 2 %, ≤ 150 MB",
        });
        figures.push({
          bench: "idle-workers",
          metric: `the same, each with a heartbeat every 5 s, ${SHOWN[dialect]}`,
          value: `${(beats * 100).toFixed(1)} % of one core`,
          target: "–",
        });
      } finally {
        await control.stop();
      }
    }
    return figures;
  } finally {
    await stores.stop();
  }
};

/** Spread over the interval, as those of workers that were started at different times. */
async function beatAll(pullers: Puller[], over: () => boolean): Promise<void> {
  for (let i = 0; !over(); i = (i + 1) % pullers.length) {
    await pullers[i]?.beat();
    await Bun.sleep(PULL_HEARTBEAT_MS / pullers.length);
  }
}

async function cpuShare(pid: number, seconds: number): Promise<number> {
  const [cpu, start] = [cpuSeconds(pid), performance.now()];
  await Bun.sleep(seconds * 1_000);
  return ((cpuSeconds(pid) - cpu) / (performance.now() - start)) * 1_000;
}
