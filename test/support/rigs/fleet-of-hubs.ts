import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { TestLan } from "../servers/lan.ts";
import { freePort, lanePorts } from "../servers/ports.ts";
import { startPostgres, type TestPostgres } from "../servers/postgres.ts";
import { startRedis, type TestRedis } from "../servers/redis.ts";
import { startNginx, type TestRouter } from "../servers/router.ts";
import {
  type ManagedProcess,
  type ProcessInfo,
  processesOf,
  superviseProcess,
  until,
} from "./fleet-process.ts";
import { createLaneRecord, type LaneRecord } from "./lane-record.ts";
import { PROGRAM } from "./program.ts";

const ANSWER_MS = 60_000;
/** Many jobs are waited for at once. */
const LOOK_MS = 250;

/** Several hubs and workers as real processes behind a real router, on one Postgres and one Redis, each started again when it dies. */
export interface FleetOfHubs {
  /** The router's. */
  url: string;
  dir: string;
  hubs: ManagedProcess[];
  /** Each hub's own address. */
  hub_urls: string[];
  workers: ManagedProcess[];
  postgres: TestPostgres;
  db_url: string;
  redis: TestRedis;
  router: TestRouter;
  /** The network of the hubs, `hosts[i]` is that of hub i; null when everything is on the loopback interface. */
  lan: TestLan | null;
  /** What the workers have logged of their lanes. */
  lanes: LaneRecord;
  /** The parsed answer; null when no hub gave one. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  ): Promise<{ status: number; body: any } | null>;
  /** The job's record once it is terminal. */
  finished(job_id: string, ms: number): Promise<Job>;
  /** Resolves when every lane of every worker is warm and free. */
  lanesWarm(ms?: number): Promise<void>;
  /** The last lines of every process' log. */
  tails(): string;
  /** Stops everything; the processes of the fleet that are left. */
  stop(): Promise<ProcessInfo[]>;
}

export interface FleetOfHubsOptions {
  hubs: number;
  workers: number;
  lanes: number;
  env?: Record<string, string>;
  /** Command that starts the program; from source by default. */
  program?: string[];
  /** A network for the hubs and the router, in this order; its owner closes it. */
  lan?: TestLan | null;
}

/** As the guide says for a router (how-to/several-machines): TCP looks after connections to a machine that vanished. */
const ROUTER_SYSCTL = {
  "net.ipv4.tcp_retries2": 5,
  "net.ipv4.tcp_keepalive_time": 15,
  "net.ipv4.tcp_keepalive_intvl": 5,
  "net.ipv4.tcp_keepalive_probes": 3,
};

interface WorkerView {
  alive: boolean;
  in_flight: number;
  lanes: { state: string }[];
}

export async function startFleetOfHubs(options: FleetOfHubsOptions): Promise<FleetOfHubs> {
  const program = options.program ?? PROGRAM;
  const dir = mkdtempSync(join(tmpdir(), "flotilla-hubs-"));
  const lan = options.lan ?? null;
  const listen = lan?.address;
  const [postgres, redis] = await Promise.all([
    startPostgres({ listen }),
    startRedis({ ...(listen && { listen }) }),
  ]);
  const db_url = await postgres.createDatabase();
  const fromHubs = (url: string) => (lan ? url.replace("127.0.0.1", lan.address) : url);
  const shared = {
    FLOTILLA_TEST: dir,
    SVC_HOST: "127.0.0.1",
    SVC_LOG_LEVEL: "info",
    WORKER_SECRET: "of-the-fleet",
    SVC_HEADLESS_LANES: "1",
    SVC_SECRET_KEY_FILE: join(dir, "secret.key"),
    ...options.env,
  };
  const hub_urls: string[] = [];
  const hubs: ManagedProcess[] = [];
  for (let i = 0; i < options.hubs; i += 1) {
    const host = lan?.hosts[i];
    const port = freePort();
    const address = host?.address ?? "127.0.0.1";
    hub_urls.push(`http://${address}:${port}`);
    const env = {
      ...shared,
      SVC_HOST: address,
      SVC_PORT: String(port),
      SVC_DATA_DIR: join(dir, `hub${i}`),
      SVC_DB_URL: fromHubs(db_url),
      SVC_REDIS_URL: fromHubs(redis.url),
      SVC_OBJECTS_URL: `file:${join(dir, "objects")}`,
      SVC_PLUGINS_DIR: join(dir, "plugins"),
    };
    hubs.push(superviseProcess(`hub${i}`, [...(host?.enter ?? []), ...program, "hub"], env));
  }
  const at = lan?.hosts[options.hubs];
  for (const [name, value] of Object.entries(ROUTER_SYSCTL)) at?.sysctl(name, value);
  const router = await startNginx(hub_urls, at);
  const lanes = createLaneRecord();
  const workers = Array.from({ length: options.workers }, (_, i) => {
    const env = {
      ...shared,
      HUB_URL: router.url.replace("http", "ws"),
      PUBLIC_BASE_URL: router.url,
      SVC_WORKER_ID: `w${i}`,
      SVC_DATA_DIR: join(dir, `worker${i}`),
      LANE_POOL: String(options.lanes),
      MAX_CONCURRENT: String(options.lanes),
      ...lanePorts(),
    };
    const onLine = lanes.follow(`w${i}`);
    return superviseProcess(`worker${i}`, [...program, "worker"], env, { onLine });
  });
  const processes = [...hubs, ...workers];

  const call: FleetOfHubs["call"] = async (method, path, body, headers = {}) => {
    try {
      const answer = await fetch(router.url + path, {
        method,
        headers: { "content-type": "application/json", ...headers },
        signal: AbortSignal.timeout(ANSWER_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
    } catch {
      return null;
    }
  };
  const tails = () => processes.map((p) => `== ${p.name} ${p.starts}×\n${p.tail()}`).join("\n");
  const told = (err: Error): never => {
    throw new Error(`${err.message}\n${tails()}`);
  };
  return {
    url: router.url,
    dir,
    hubs,
    hub_urls,
    workers,
    postgres,
    db_url,
    redis,
    router,
    lan,
    lanes,
    call,
    tails,
    finished: (job_id, ms) => {
      const look = async () => {
        const answer = await call("GET", `/jobs/${job_id}`);
        const job: Job | null = answer?.status === 200 ? answer.body : null;
        return job && !["queued", "running"].includes(job.status) ? job : null;
      };
      return until(`the end of job ${job_id}`, ms, look, LOOK_MS).catch(async (err) => {
        const record = await call("GET", `/jobs/${job_id}`);
        throw told(new Error(`${err.message}: ${JSON.stringify(record)}`));
      });
    },
    lanesWarm: async (ms = 60_000) => {
      let last: unknown;
      await until("every lane to be warm and free", ms, async () => {
        last = (await call("GET", "/workers"))?.body?.workers;
        const all = ((last ?? []) as WorkerView[]).filter((w) => w.alive);
        const warm = all.flatMap((w) => w.lanes).filter((l) => l.state === "warm").length;
        return warm === options.workers * options.lanes && all.every((w) => w.in_flight === 0);
      }).catch((err) => told(new Error(`${err.message}: ${JSON.stringify(last)}`)));
    },
    stop: async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(hubs.map((hub) => hub.stop()));
      await router.stop();
      await Promise.all([postgres.stop(), redis.stop()]);
      const left = processesOf(dir).filter((p) => p.state !== "Z");
      rmSync(dir, { recursive: true, force: true });
      return left;
    },
  };
}
