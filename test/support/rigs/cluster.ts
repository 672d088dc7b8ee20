import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beatHubOnce } from "#hub/platform/cluster/hubs.ts";
import { openShared, type SharedStores } from "#hub/platform/stores/open-shared.ts";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startTestHub, type TestHub } from "./hub.ts";

/** What stands between a hub and the others: cut, its hub is dead to them; frozen, it is reached and silent. */
interface Front {
  url: string;
  cut(): void;
  freeze(): void;
}

/** A hub that the others reach through its front. */
export interface ClusterHub extends TestHub {
  front: Front;
}

/** Several hubs of one process on one database, one set of shared stores and one directory of objects. */
export interface TestCluster {
  hubs: ClusterHub[];
  shared: SharedStores;
  close(): Promise<void>;
}

export interface TestClusterOptions {
  db_url: string;
  count?: number;
  env?: EnvSource;
  clock?: Clock;
  /** Of single hubs, by their place. */
  envs?: EnvSource[];
}

async function startFront(target: string): Promise<Front> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    if (frozen) return;
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port: own } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${own}`,
    cut: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
    freeze: () => {
      frozen = true;
      for (const socket of sockets) socket.unpipe();
      for (const socket of sockets) socket.pause();
    },
  };
}

export async function startCluster({
  db_url,
  count = 2,
  env = {},
  envs = [],
  clock = systemClock,
}: TestClusterOptions): Promise<TestCluster> {
  const objects = await mkdtemp(join(tmpdir(), "flotilla-objects-"));
  const shared = await openShared(null, { clock, log: silentLog });
  const hubs: ClusterHub[] = [];
  const close = async () => {
    await Promise.all(hubs.map((hub) => hub.close()));
    for (const hub of hubs) hub.front.cut();
    await shared.close();
    await rm(objects, { recursive: true, force: true });
  };
  try {
    for (let n = 0; n < count; n += 1) {
      const hub = await startTestHub({
        shared,
        clock,
        env: {
          SVC_DB_URL: db_url,
          SVC_DB_POOL_SIZE: "3",
          SVC_OBJECTS_URL: `file:${objects}`,
          WORKER_SECRET: "cluster-secret",
          ...env,
          ...envs[n],
        },
      });
      const front = await startFront(hub.url);
      hubs.push(Object.assign(hub, { front }));
      hub.ctx.advertise.url = front.url;
      await beatHubOnce(hub.ctx);
    }
  } catch (err) {
    await close();
    throw err;
  }
  return { hubs, shared, close };
}
