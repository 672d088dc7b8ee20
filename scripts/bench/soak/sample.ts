import { Database } from "bun:sqlite";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readStat } from "#shared/kit/proc.ts";
import {
  type FleetProcesses,
  openFdsOf,
  processesOf,
  rssOf,
} from "#test/support/rigs/fleet-process.ts";
import { sumProportional } from "#worker/browser/process/tagged.ts";
import { type Probed, probe } from "./probe-client.ts";

/** One look at everything that may grow; sizes in MB. */
export interface Sample {
  minute: number;
  hub: Service;
  worker: Service;
  /** Everything that both have started: Chromium, Xvnc, warm task processes. */
  children: { count: number; pss: number };
  rows: number;
  /** What the worker keeps of jobs that run. */
  spool: number;
  /** Database with its log, and objects. */
  stored: number;
}

export interface Service {
  rss: number;
  heap: number;
  malloc: number;
  fds: number;
}

const MB = 1024 * 1024;

export async function takeSample(fleet: FleetProcesses, minute: number): Promise<Sample> {
  const { dir } = fleet;
  const service = async (mode: "hub" | "worker"): Promise<Service> => {
    const { pid } = fleet[mode];
    const { heap, malloc }: Probed = await probe(dir, mode);
    const { sockets, others } = openFdsOf(pid);
    return { rss: rssOf(pid) / MB, heap: heap / MB, malloc: malloc / MB, fds: sockets + others };
  };
  const services = [fleet.hub.pid, fleet.worker.pid];
  const stats = processesOf(dir)
    .filter(({ pid }) => !services.includes(pid))
    .map(({ pid }) => readStat(pid))
    .filter((stat) => stat !== null);
  return {
    minute,
    hub: await service("hub"),
    worker: await service("worker"),
    children: { count: stats.length, pss: sumProportional(stats) / MB },
    rows: rowsIn(join(dir, "hub", "flotilla.db")),
    spool: bytesBelow(join(dir, "worker")) / MB,
    stored: bytesBelow(join(dir, "hub")) / MB,
  };
}

function rowsIn(path: string): number {
  const db = new Database(path, { readonly: true });
  try {
    const tables = db.query("select name from sqlite_master where type = 'table'").all();
    return (tables as { name: string }[]).reduce((sum, { name }) => {
      const row = db.query(`select count(*) as n from "${name}"`).get() as { n: number };
      return sum + row.n;
    }, 0);
  } finally {
    db.close();
  }
}

function bytesBelow(path: string): number {
  let names: string[];
  try {
    const stat = lstatSync(path);
    if (!stat.isDirectory()) return stat.size;
    names = readdirSync(path);
  } catch {
    return 0; // gone between the listing and the look
  }
  return names.reduce((sum, name) => sum + bytesBelow(join(path, name)), 0);
}
