import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { humanSize } from "#shared/kit/words.ts";
import { rssOf, until } from "#test/support/rigs/fleet-process.ts";
import { startPostgres } from "#test/support/servers/postgres.ts";
import { startRedis } from "#test/support/servers/redis.ts";
import { type Bench, type BenchOptions, type Figure, statsOf, timed } from "./harness.ts";
import { type HubOnly, startHubOnly } from "./hub-only.ts";
import { cpuSeconds } from "./process-cpu.ts";
import { type StubFleet, startStubFleet } from "./stub-fleet.ts";
import { submitStub } from "./stub-jobs.ts";

/** A thousand simulated workers in a process of their own: one hub on SQLite, two on Postgres and Redis. */
const FULL = { workers: 1_000, lanes: 2, jobs: 4_000, reads: 100, rounds: 5, idle_ms: 20_000 };
const TINY = { workers: 20, lanes: 2, jobs: 50, reads: 5, rounds: 2, idle_ms: 200 };
type Size = typeof FULL;

const HEARTBEAT_MS = 15_000;
const CLIENTS = 32;
const SETTLE_MS = 60_000;

interface Stores {
  name: string;
  hubs: number;
  rate: string;
  /** What the hubs share; null: nothing. */
  open(): Promise<{ env: Record<string, string>; close(): Promise<void> }>;
}

const STORES: Stores[] = [
  {
    name: "SQLite, 1 hub",
    hubs: 1,
    rate: "≥ 1,000 jobs/s",
    open: async () => ({ env: {}, close: async () => {} }),
  },
  {
    name: "Postgres + Redis, 2 hubs",
    hubs: 2,
    rate: "≥ 500 jobs/s",
    open: async () => {
      const [postgres, redis] = await Promise.all([startPostgres({ durable: true }), startRedis()]);
      const objects = mkdtempSync(join(tmpdir(), "flotilla-bench-objects-"));
      return {
        env: {
          SVC_DB_URL: await postgres.createDatabase(),
          SVC_REDIS_URL: redis.url,
          SVC_OBJECTS_URL: `file:${objects}`,
          SVC_SECRET_KEY_FILE: join(objects, "secret.key"),
        },
        close: async () => {
          await Promise.all([postgres.stop(), redis.stop()]);
          rmSync(objects, { recursive: true, force: true });
        },
      };
    },
  },
];

export const fleet: Bench = async (options) => {
  const figures: Figure[] = [];
  for (const stores of STORES) figures.push(...(await measure(stores, options)));
  return figures;
};

async function measure(stores: Stores, { runs, tiny }: BenchOptions): Promise<Figure[]> {
  const size = tiny ? TINY : FULL;
  const opened = await stores.open();
  const hubs: HubOnly[] = [];
  let stubs: StubFleet | undefined;
  try {
    for (let i = 0; i < stores.hubs; i += 1) hubs.push(await startHubOnly(opened.env));
    const urls = hubs.map((hub) => hub.url);
    const { workers, lanes } = size;
    stubs = await startStubFleet(urls, { workers, lanes, heartbeat_ms: HEARTBEAT_MS });
    const figure = (metric: string, value: string, target = "–"): Figure => ({
      bench: "fleet",
      metric: `${stores.name}: ${metric}`,
      value,
      target,
    });
    const connect = figure(
      `${workers} links opened and registered`,
      `${(stubs.connect_ms / 1_000).toFixed(1)} s`,
    );
    const idle = await readWhileIdle(hubs, size);
    const beats = await heartbeats(stubs, size);
    const rates: number[] = [];
    for (let run = 0; run < runs; run += 1) rates.push(await dispatch(urls, size));
    await allFree(urls[0] ?? "", size);
    const { lost } = await stubs.ask<"counts">({ say: "counts" });
    if (lost > 0) throw new Error(`${lost} links were lost`);
    const rate = statsOf(rates);
    const largest = Math.max(...hubs.map((hub) => rssOf(hub.pid)));
    return [
      connect,
      figure(
        `GET /workers of ${workers}`,
        `p50 ${idle.reads.median.toFixed(1)} ms, p95 ${idle.reads.p95.toFixed(1)} ms (n=${idle.reads.n})`,
        "p95 ≤ 50 ms",
      ),
      figure(
        `heartbeats every ${HEARTBEAT_MS / 1_000} s, nothing else`,
        `${(idle.cpu * 100).toFixed(1)} % of a core per hub`,
      ),
      figure("heartbeats, as fast as they are answered", `${Math.round(beats)}/s`),
      figure(
        "jobs assigned and finished",
        `${Math.round(rate.median)} jobs/s (${Math.round(rate.min)}–${Math.round(rate.max)}, n=${rate.n})`,
        stores.rate,
      ),
      figure("resident memory of the largest hub", humanSize(largest), "≤ 300 MB"),
    ];
  } finally {
    await stubs?.stop();
    await Promise.all(hubs.map((hub) => hub.stop()));
    await opened.close();
  }
}

/** CPU of a hub with heartbeats alone, then how long the fleet's view takes. */
async function readWhileIdle(hubs: HubOnly[], { idle_ms, reads, workers }: Size) {
  const used = () => hubs.reduce((sum, hub) => sum + cpuSeconds(hub.pid), 0);
  const before = used();
  await Bun.sleep(idle_ms);
  const cpu = (used() - before) / (idle_ms / 1_000) / hubs.length;
  const times: number[] = [];
  for (let i = 0; i < reads; i += 1) {
    const { ms, result } = await timed(() => workersAt(hubs[i % hubs.length]?.url ?? ""));
    if (result.length !== workers) throw new Error(`GET /workers: ${result.length}`);
    times.push(ms);
  }
  return { cpu, reads: statsOf(times) };
}

async function heartbeats(stubs: StubFleet, { rounds }: Size): Promise<number> {
  const { count, ms } = await stubs.ask<"heartbeats">({ say: "heartbeats", rounds });
  return count / (ms / 1_000);
}

/** Clients submit at every hub in turn; a POST is answered once a worker has accepted the job. */
async function dispatch(urls: string[], { jobs }: Size): Promise<number> {
  let next = 0;
  const client = async () => {
    while (next < jobs) {
      const answer = await submitStub(urls[next++ % urls.length] ?? "");
      if (!answer.ok) throw new Error(`POST /jobs: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
    }
  };
  const { ms } = await timed(() => Promise.all(Array.from({ length: CLIENTS }, client)));
  return jobs / (ms / 1_000);
}

interface WorkerView {
  in_flight: number;
}

const workersAt = async (url: string): Promise<WorkerView[]> =>
  ((await (await fetch(`${url}/workers`)).json()) as { workers: WorkerView[] }).workers;

/** A lease that stays behind would be a lost lane. */
async function allFree(url: string, { workers }: Size): Promise<void> {
  await until("every lane to be free", SETTLE_MS, async () => {
    const all = await workersAt(url);
    return all.length === workers && all.every((worker) => worker.in_flight === 0);
  });
}
