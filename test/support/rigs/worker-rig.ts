import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import { createLog } from "#shared/kit/log.ts";
import { type HubAssignJob, RunExtras } from "#shared/protocol/link/messages.ts";
import { type CaptureReport, JobOptions } from "#shared/protocol/schema/job.ts";
import type { JobOutcome, JobRun } from "#worker/browser/lanes/lane-browser.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { type RunningWorker, startWorker } from "#worker/program/start.ts";
import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import { FAKE_VERSION, type FakeHub, type FakePeer, startFakeHub } from "../fakes/fake-hub.ts";
import { createFakePool, type FakePool } from "../fakes/fake-lanes.ts";
import { createQueue, type Queue } from "../models/queue.ts";

/** A whole worker on fake lanes against a fake hub. Each run waits for the test to end it. */
export interface WorkerRig {
  /** The worker's data directory. */
  dir: string;
  hub: FakeHub;
  pool: FakePool;
  worker: RunningWorker;
  peer: FakePeer;
  /** Runs in the order they began. */
  runs: Queue<FakeRun>;
  log: Queue<Record<string, unknown>>;
  spool(name: string, content: string | Uint8Array): Promise<SpooledBody>;
  close(): Promise<void>;
}

interface FakeRun {
  run: JobRun;
  end(outcome?: Partial<JobOutcome>): void;
  fail(err: Error): void;
}

export const CAPTURE: CaptureReport = {
  seen: 2,
  captured: 2,
  partial: 0,
  lost: 0,
  skipped: 0,
  ratio: 1,
  reasons: {},
  method: "durable",
};

const COMPLETED: JobOutcome = {
  status: "completed",
  error: null,
  stage: null,
  http_status: 200,
  final_url: "http://site.test/",
  title: "Site",
  capture: null,
};

export const assignment = (job_id: string, lane_idx = 0, lease_token = 1): HubAssignJob => ({
  type: "HubAssignJob",
  job_id,
  lease_token,
  lane_idx,
  session_id: `session-${job_id}`,
  url: "http://site.test/",
  options: { ...JobOptions.parse({}) },
  extras: RunExtras.parse({}),
});

export async function startWorkerRig(
  options: {
    env?: Record<string, string>;
    lanes?: number;
    clock?: Clock;
    registered?: Partial<FakeHub["registered"]>;
  } = {},
): Promise<WorkerRig> {
  const dir = await mkdtemp(join(tmpdir(), "worker-rig-"));
  const hub = await startFakeHub();
  Object.assign(hub.registered, options.registered);
  const lanes = options.lanes ?? 2;
  const pool = createFakePool(lanes);
  const runs = createQueue<FakeRun>();
  const log = createQueue<Record<string, unknown>>();
  const env = {
    HUB_URL: hub.url,
    SVC_DATA_DIR: dir,
    SVC_WORKER_ID: "w1",
    LANE_POOL: String(lanes),
  };
  const starting = startWorker(
    {
      config: loadWorkerConfig({ ...env, ...options.env }, {}),
      log: createLog("debug", (line) => log.push(JSON.parse(line) as Record<string, unknown>)),
      clock: options.clock ?? systemClock,
      version: FAKE_VERSION,
    },
    {
      createLanePool: async () => pool,
      runFetch: (run) =>
        new Promise((resolve, reject) => {
          runs.push({ run, end: (o = {}) => resolve({ ...COMPLETED, ...o }), fail: reject });
        }),
      runScripted: (run) =>
        new Promise((resolve, reject) => {
          runs.push({ run, end: (o = {}) => resolve({ ...COMPLETED, ...o }), fail: reject });
        }),
      startBridges: async () => ({ close: async () => {} }),
      loadPlaywright: async () => {},
      random: () => 0,
    },
  );
  const worker = await starting;
  const peer = await hub.nextPeer();
  await peer.register();
  await peer.next("WorkerHeartbeat");
  return {
    dir,
    hub,
    pool,
    worker,
    peer,
    runs,
    log,
    spool: async (name, content) => {
      const path = join(dir, name);
      const data = typeof content === "string" ? new TextEncoder().encode(content) : content;
      await Bun.write(path, data);
      const sha256 = new Bun.CryptoHasher("sha256").update(data).digest("hex");
      return { path, size: data.length, sha256 };
    },
    close: async () => {
      for (const { end } of runs.all) end();
      pool.letReset();
      await worker.stop();
      await hub.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
