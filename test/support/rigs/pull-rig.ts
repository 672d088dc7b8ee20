import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import { createLog } from "#shared/kit/log.ts";
import { type PullDeps, type PullWorker, startPullWorker } from "#worker/tasks/pull.ts";
import { type Answer, startTestHub, type TestHub } from "./hub.ts";
import type { TestHubOptions } from "./hub-options.ts";

export interface RigWorker extends PullWorker {
  dir: string;
  /** Lines of its log. */
  log: string[];
  /** An operator's `stop` has reached it. */
  told_to_stop: Promise<void>;
}

/** A control plane and pull workers of one test; `close` ends them all and removes their directories. */
export interface PullRig {
  hub(): TestHub;
  start(options?: TestHubOptions): Promise<TestHub>;
  /** A call below /api/v1. */
  api(method: string, path: string, body?: unknown, init?: RequestInit): Promise<Answer>;
  worker(more?: Partial<PullDeps>): Promise<RigWorker>;
  tempDir(): Promise<string>;
  close(): Promise<void>;
}

export function createPullRig(): PullRig {
  let hub: TestHub | undefined;
  const workers: PullWorker[] = [];
  const dirs: string[] = [];
  const rig: PullRig = {
    hub: () => {
      if (!hub) throw new Error("the rig has no hub yet");
      return hub;
    },
    start: async (options) => {
      hub = await startTestHub(options);
      return hub;
    },
    api: (method, path, body, init) => rig.hub().call(method, `/api/v1${path}`, body, init),
    worker: async (more = {}) => {
      const dir = await rig.tempDir();
      const log: string[] = [];
      const stop = Promise.withResolvers<void>();
      const worker = startPullWorker({
        onStop: stop.resolve,
        control_url: rig.hub().url,
        worker_id: "p1",
        slots: 2,
        dir,
        version: "1",
        secret: null,
        api_token: null,
        clock: systemClock,
        random: Math.random,
        environment: { PATH: process.env.PATH ?? "" },
        log: createLog("info", (line) => log.push(line)),
        ...more,
      });
      workers.push(worker);
      return { ...worker, dir, log, told_to_stop: stop.promise };
    },
    tempDir: async () => {
      const dir = await mkdtemp(join(tmpdir(), "flotilla-pull-"));
      dirs.push(dir);
      return dir;
    },
    close: async () => {
      await Promise.all(workers.splice(0).map((w) => w.stop(0)));
      await hub?.close();
      hub = undefined;
      for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
    },
  };
  return rig;
}

/** Asks until it is so; each ask is a real call, which is nearly all the waiting there is. */
export async function askUntil<T>(
  what: string,
  ask: () => Promise<T | false>,
  within_ms = 60_000,
): Promise<T> {
  const end = Date.now() + within_ms;
  for (;;) {
    const got = await ask();
    if (got !== false) return got;
    if (Date.now() > end) throw new Error(`${what} did not come`);
    await systemClock.sleep(5);
  }
}
