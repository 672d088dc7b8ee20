import { afterAll, afterEach, beforeAll, beforeEach } from "bun:test";
import { type FakeBridge, startFakeBridge } from "../fakes/fake-bridge.ts";
import type { FakeWorker, FakeWorkerOptions } from "../fakes/fake-worker.ts";
import { startPostgres, type TestPostgres } from "../servers/postgres.ts";
import { type ClusterHub, startCluster, type TestCluster } from "./cluster.ts";

/** Two hubs of one cluster, for what is asked of the one and has its lane at the other. */
export interface TwoHubs {
  /** There from the first test on. */
  readonly cluster: TestCluster;
  readonly asked: ClusterHub;
  readonly owner: ClusterHub;
  /** Where the lanes of this test's workers are shown. */
  readonly bridge: FakeBridge;
  /** A worker `w1`, `w2`, … of this test, which ends it. */
  workerAt(hub: ClusterHub, options?: FakeWorkerOptions): Promise<FakeWorker>;
  /** How many workers there have been: the number of the last one. */
  readonly workers: number;
}

const START_MS = 180_000;

/** What the tests of one file share; each has a bridge and workers of its own. */
export function shareTwoHubs(): TwoHubs {
  let postgres: TestPostgres | undefined;
  let cluster: TestCluster | undefined;
  let bridge: FakeBridge;
  let workers = 0;
  const fakes: FakeWorker[] = [];
  const started = (): TestCluster => {
    if (cluster === undefined) throw new Error("the hubs are there from the first test on");
    return cluster;
  };
  beforeAll(async () => {
    postgres = await startPostgres();
    cluster = await startCluster({
      db_url: await postgres.createDatabase(),
      // Who is asked waits for as long as it takes; the owner is asked where there is no lane.
      envs: [{ SVC_SUBMIT_WAIT_S: "60" }, { SVC_SUBMIT_WAIT_S: "1" }],
    });
  }, START_MS);
  beforeEach(() => {
    bridge = startFakeBridge();
  });
  afterEach(async () => {
    for (const worker of fakes.splice(0)) await worker.close();
    for (const hub of started().hubs)
      while (hub.ctx.links.size > 0) await hub.signals.next("link closed");
    await bridge.stop();
  });
  afterAll(async () => {
    await cluster?.close();
    await postgres?.stop();
  }, START_MS);
  return {
    get cluster() {
      return started();
    },
    get asked() {
      return started().hubs[0] as ClusterHub;
    },
    get owner() {
      return started().hubs[1] as ClusterHub;
    },
    get bridge() {
      return bridge;
    },
    get workers() {
      return workers;
    },
    workerAt: async (hub, options = {}) => {
      workers += 1;
      const { lanes = 1, capabilities } = options;
      const { lane_novnc_urls } = bridge;
      const worker = await hub.worker({
        worker_id: `w${workers}`,
        instance_id: `instance-${workers}`,
        address: "127.0.0.1",
        secret: "cluster-secret",
        ...options,
        capabilities: { lane_novnc_urls, max_concurrent: lanes, ...capabilities } as never,
      });
      fakes.push(worker);
      return worker;
    },
  };
}
