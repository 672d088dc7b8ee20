import { chmodSync, existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { silentLog } from "#shared/kit/log.ts";
import { isAlive, listProcesses, type ProcStat, readProc } from "#shared/kit/proc.ts";
import type { Lane, LaneState } from "#shared/protocol/schema/worker.ts";
import { createLanePool, type LanePool } from "#worker/browser/lanes/pool.ts";
import { scratchId } from "#worker/browser/lanes/scratch.ts";
import { findByTag } from "#worker/browser/process/tagged.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { lanePorts, releaseLanePorts } from "../servers/ports.ts";
import { until } from "./fleet-process.ts";

export interface TestPool {
  pool: LanePool;
  data_dir: string;
  bases: { display: number; cdp: number; vnc: number };
  /** The next report of `state` by lane `lane_idx`. */
  next(lane_idx: number, state: LaneState): Promise<Lane>;
}

/** Environment of a worker on its own ports and directory, so that tests can run beside each other. */
export function laneEnv(data_dir: string, env: EnvSource = {}): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    SVC_DATA_DIR: data_dir,
    ...lanePorts(),
    ...Object.fromEntries(
      Object.entries(env).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])),
    ),
  };
}

/** One that the browsers' account may enter. */
export function makeDataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-lanes-"));
  chmodSync(dir, 0o711);
  return dir;
}

/** Opens a pool, runs `use`, closes the pool and removes its directory, whatever happens. */
export async function withPool(
  env: EnvSource,
  use: (t: TestPool) => Promise<void>,
  clock: Clock = systemClock,
): Promise<void> {
  const data_dir = env.SVC_DATA_DIR ?? makeDataDir();
  const own = laneEnv(data_dir, env);
  const config = loadWorkerConfig(own, {});
  try {
    const pool = await createLanePool({ config, log: silentLog, clock });
    const next = (lane_idx: number, state: LaneState) =>
      new Promise<Lane>((resolve) => {
        const stop = pool.onChange((lane) => {
          if (lane.lane_idx !== lane_idx || lane.state !== state) return;
          stop();
          resolve(lane);
        });
      });
    const { display_base: display, cdp_port_base: cdp, vnc_port_base: vnc } = config.lanes;
    try {
      await use({ pool, data_dir, next, bases: { display, cdp, vnc } });
    } finally {
      await pool.close();
    }
  } finally {
    releaseLanePorts(own);
    rmSync(data_dir, { recursive: true, force: true });
  }
}

/** Pauses last a twentieth of what they should; deadlines are real. */
export const hastyClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms / 20, signal),
};

/**
 * Live processes of the worker on `data_dir`: by tag, and by their working directory, which Chromium's children keep
 * whatever becomes of their environment.
 */
export function processesOf(data_dir: string): ProcStat[] {
  const id = scratchId(join(data_dir, "lanes"));
  const tagged = new Set(findByTag((tag) => tag.startsWith(`${id}:`)).map((p) => p.pid));
  return listProcesses().filter(
    (p) => isAlive(p) && (tagged.has(p.pid) || workDir(p.pid).startsWith(data_dir)),
  );
}

function workDir(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ""; // gone, or the kernel's own
  }
}

export const runDirs = (data_dir: string): string[] => {
  const dir = join(data_dir, "lanes", "runs");
  return existsSync(dir) ? readdirSync(dir) : [];
};

/** Zombies waiting for this very process. */
const ownZombies = (): ProcStat[] =>
  listProcesses().filter((p) => p.state === "Z" && p.ppid === process.pid);

/** Waits until all of them are reaped. */
export const noZombie = (): Promise<true> =>
  until("the end of every zombie", 60_000, () => ownZombies().length === 0);

/**
 * Live processes of the worker on `data_dir` that last as long as their lane: Chromium ends its helpers and renderers
 * when it likes.
 */
export const lastingOf = (data_dir: string): number[] =>
  processesOf(data_dir)
    .map(({ pid }) => pid)
    .filter((pid) => !/--type=(utility|renderer|gpu-process)/.test(readProc(pid, "cmdline") ?? ""));

export const openFds = (): number => readdirSync("/proc/self/fd").length;

/** Waits until no more than `most` descriptors are open: a socket is still closing when its lane is already gone. */
export const fdsFallTo = (most: number): Promise<true> =>
  until(`${most} open descriptors, not ${openFds()}`, 60_000, () => openFds() <= most);
