import { readdirSync } from "node:fs";
import { join } from "node:path";
import {
  type FleetProcesses,
  openFdsOf,
  processesOf,
  rssOf,
  runDirsOf,
  until,
  zombiesOf,
} from "./fleet-process.ts";

/** What must be the same after any number of jobs or sessions. */
export interface Counts {
  processes: number;
  zombies: number;
  hub_fds: number;
  worker_fds: number;
  run_dirs: number;
  /** Entries of the fleet's directory and of the two data directories in it. */
  dirs: string[];
}

/** How long what was used may take to go: idle connections and Chromium's utility processes end by themselves. */
const SETTLE_MS = 60_000;

function countsOf({ hub, worker, dir }: FleetProcesses): Counts {
  return {
    processes: processesOf(dir).length,
    zombies: zombiesOf(worker.pid).length + zombiesOf(hub.pid).length,
    hub_fds: openFdsOf(hub.pid).others,
    worker_fds: openFdsOf(worker.pid).others,
    run_dirs: runDirsOf(dir).length,
    dirs: ["", "hub", "worker", "worker/lanes"].flatMap((sub) =>
      readdirSync(join(dir, sub)).map((name) => join(sub, name)),
    ),
  };
}

/** The counts once they have stayed the same for three seconds. */
export async function settledCounts(fleet: FleetProcesses): Promise<Counts> {
  let last = "";
  let since = 0;
  await until("counts that stay the same", SETTLE_MS, () => {
    const now = JSON.stringify(countsOf(fleet));
    if (now !== last) [last, since] = [now, Date.now()];
    return Date.now() - since >= 3_000;
  });
  return JSON.parse(last) as Counts; // written four lines above
}

/** Waits until the counts are as they were; the last ones when they never are. */
export async function countsLike(fleet: FleetProcesses, before: Counts): Promise<Counts> {
  let last = countsOf(fleet);
  await until("the counts of before", SETTLE_MS, () => {
    last = countsOf(fleet);
    return Bun.deepEquals(last, before);
  }).catch(() => {});
  return last;
}

export const socketsOf = ({ hub, worker }: FleetProcesses) => ({
  hub: openFdsOf(hub.pid).sockets,
  worker: openFdsOf(worker.pid).sockets,
});

/** Resident memory in bytes. */
export const memoryOf = ({ hub, worker }: FleetProcesses) => ({
  hub: rssOf(hub.pid),
  worker: rssOf(worker.pid),
});
