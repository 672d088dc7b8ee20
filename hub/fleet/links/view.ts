import type { WorkerRow } from "#hub/platform/db/rows.ts";
import { isoTime, withDeadline } from "#shared/kit/clock.ts";
import { AppError, conflict, notFound } from "#shared/kit/errors.ts";
import {
  FLEET_VIEW_MAX_AGE_MS,
  KV_READ_TIMEOUT_MS,
  WORKER_LIVENESS_MS,
} from "#shared/protocol/limits.ts";
import type { Lane, Worker, WorkerStatus } from "#shared/protocol/schema/worker.ts";
import type { FleetContext } from "../context.ts";
import type { FleetCountContext, WorkerListContext } from "./link-contexts.ts";
import type { WorkerEntry } from "./parts.ts";
import { entryOf, WORKER_PREFIX } from "./registration.ts";

type OnLane = Pick<Lane, "lane_idx" | "job_id" | "session_id">;

/**
 * Every registered worker of every hub. Reads of the shared store may take 1.5 s; after that the last good view is used
 * for up to 60 s (rules/workers#list-and-read-workers).
 * @throws AppError unavailable when there is no view young enough.
 */
export async function readFleet(
  ctx: Pick<FleetContext, "clock" | "fleet_cache" | "hub_id" | "kv" | "links" | "log">,
): Promise<WorkerEntry[]> {
  const cache = ctx.fleet_cache;
  try {
    const read = ctx.kv.list<WorkerEntry>(WORKER_PREFIX);
    const found = await withDeadline("worker registry", KV_READ_TIMEOUT_MS, read, ctx.clock);
    cache.last = { at: ctx.clock.monotonic(), entries: found.map((entry) => entry.value) };
  } catch (err) {
    ctx.log.warn({ err }, "worker registry did not answer");
    if (!cache.last || ctx.clock.monotonic() - cache.last.at > FLEET_VIEW_MAX_AGE_MS)
      throw new AppError("unavailable", "the worker registry does not answer", { cause: err });
  }
  // This hub knows its own links first hand.
  const others = cache.last.entries.filter((entry) => !ctx.links.has(entry.worker_id));
  const own = [...ctx.links.values()].filter((link) => link.ready && !link.closed);
  return [...others, ...own.map((link) => entryOf(ctx, link))];
}

/** Another hub's registration stays in the shared store while its worker counts as alive, by that store's clock. */
export function isAlive(
  ctx: Pick<FleetContext, "links" | "clock">,
  { worker_id }: Pick<WorkerEntry, "worker_id">,
): boolean {
  const link = ctx.links.get(worker_id);
  return link === undefined || ctx.clock.monotonic() - link.heard_at <= WORKER_LIVENESS_MS;
}

/**
 * What is leased on each worker's lanes, by worker_id; while the store is away, what the workers in the last good view
 * said about them.
 */
async function leasesOf(
  ctx: Pick<FleetContext, "links" | "leases">,
  entries: readonly WorkerEntry[],
): Promise<(entry: WorkerEntry) => OnLane[]> {
  const others = entries.filter(({ worker_id }) => !ctx.links.has(worker_id));
  const stored = await ctx.leases.listMany(others.map((e) => e.worker_id)).catch(() => null);
  return ({ worker_id, lanes }) => {
    const link = ctx.links.get(worker_id);
    if (link) return [...link.held.values()].map((held) => held.lease);
    const leases = stored?.get(worker_id);
    return leases ?? lanes.filter((lane) => lane.job_id !== null || lane.session_id !== null);
  };
}

function connectedRecord(
  ctx: Pick<FleetContext, "rollout" | "links" | "clock">,
  row: WorkerRow | undefined,
  entry: WorkerEntry,
  leases: OnLane[],
): Worker {
  const leased = new Map(leases.map((lease) => [lease.lane_idx, lease]));
  const { worker_id, address, hostname, version, capabilities, load, profiles } = entry;
  return {
    worker_id,
    address,
    hostname,
    version,
    alive: isAlive(ctx, entry),
    status: row?.status ?? "active",
    in_flight: leases.length,
    capabilities,
    lane_novnc_urls: capabilities.lane_novnc_urls,
    cpu_percent: load.cpu_percent,
    mem_percent: load.mem_percent,
    disk_pct: load.disk_pct,
    profiles,
    lanes: entry.lanes.map((lane) => {
      const lease = leased.get(lane.lane_idx);
      if (!lease || lane.job_id !== null) return lane;
      return { ...lane, job_id: lease.job_id, session_id: lease.session_id };
    }),
    connected_at: isoTime(entry.connected_at),
    last_heartbeat_at: isoTime(entry.last_heartbeat_at),
    link_hub: entry.link_hub,
    update: ctx.rollout.updateOf({ kind: "browser", worker_id }),
  };
}

/** A worker that was seen before and is not connected now. */
const absentRecord = ({ rollout }: Pick<FleetContext, "rollout">, row: WorkerRow): Worker => ({
  worker_id: row.worker_id,
  address: row.address,
  hostname: row.hostname,
  version: row.version,
  alive: false,
  status: row.status,
  in_flight: 0,
  capabilities: {
    max_concurrent: 0,
    lane_novnc_urls: [],
    novnc_url: null,
    browser: null,
    capture: "durable",
  },
  lane_novnc_urls: [],
  cpu_percent: null,
  mem_percent: null,
  disk_pct: null,
  profiles: [],
  lanes: [],
  connected_at: null,
  last_heartbeat_at: isoTime(row.last_seen_at),
  link_hub: null,
  update: rollout.updateOf({ kind: "browser", worker_id: row.worker_id }),
});

/** GET /workers: connected workers and those only remembered, by id. */
export async function listWorkers(ctx: WorkerListContext): Promise<Worker[]> {
  const [entries, rows] = await Promise.all([readFleet(ctx), ctx.db.workers.list()]);
  const remembered = new Map(rows.map((row) => [row.worker_id, row]));
  const leased = await leasesOf(ctx, entries);
  const records = entries.map((entry) => {
    const row = remembered.get(entry.worker_id);
    remembered.delete(entry.worker_id);
    return connectedRecord(ctx, row, entry, leased(entry));
  });
  for (const row of remembered.values()) records.push(absentRecord(ctx, row));
  return records.sort((a, b) => (a.worker_id < b.worker_id ? -1 : 1));
}

/** GET /workers/{id}: a worker connected to any hub, or one only remembered. @throws AppError not_found */
export async function getWorker(ctx: WorkerListContext, worker_id: string): Promise<Worker> {
  const [entries, row] = await Promise.all([readFleet(ctx), ctx.db.workers.get(worker_id)]);
  const entry = entries.find((e) => e.worker_id === worker_id);
  return recordOf(ctx, row ?? undefined, entry);
}

async function recordOf(
  ctx: Pick<FleetContext, "rollout" | "links" | "clock" | "leases">,
  row: WorkerRow | undefined,
  entry: WorkerEntry | undefined,
): Promise<Worker> {
  if (entry) return connectedRecord(ctx, row, entry, (await leasesOf(ctx, [entry]))(entry));
  if (row) return absentRecord(ctx, row);
  throw notFound("worker");
}

/** POST /workers/{id}/status: any status to any other; drain finishes what runs (rules/workers#status-of-a-worker). */
export async function setWorkerStatus(
  ctx: WorkerListContext & Pick<FleetContext, "cluster" | "hooks">,
  worker_id: string,
  status: WorkerStatus,
): Promise<Worker> {
  const row = await ctx.db.workers.setStatus(worker_id, status);
  if (!row) throw notFound("worker");
  const link = ctx.links.get(worker_id);
  if (link) link.status = status;
  ctx.cluster.tell({ type: "worker_status", worker_id, status });
  if (status === "active") ctx.hooks.laneFree();
  const entry = (await readFleet(ctx)).find((e) => e.worker_id === worker_id);
  return recordOf(ctx, row, entry);
}

/** DELETE /workers/{id}: forgets a worker that is not connected. */
export async function forgetWorker(
  ctx: FleetCountContext & Pick<FleetContext, "db">,
  worker_id: string,
): Promise<void> {
  const connected = (await readFleet(ctx)).some((entry) => entry.worker_id === worker_id);
  if (connected || ctx.links.has(worker_id))
    throw conflict("worker is connected: drain and stop it first");
  if (!(await ctx.db.workers.delete(worker_id))) throw notFound("worker");
}

/** Workers connected to any hub (rules/operations#health). */
export async function countFleet(
  ctx: FleetCountContext,
): Promise<{ workers: number; lanes: { total: number; busy: number } }> {
  const alive = (await readFleet(ctx)).filter((entry) => isAlive(ctx, entry));
  // This hub knows first hand what it has given to lanes; of others' workers the last view is near enough.
  const busyOf = ({ worker_id, lanes }: WorkerEntry) =>
    ctx.links.get(worker_id)?.held.size ??
    lanes.filter(({ job_id, session_id }) => job_id !== null || session_id !== null).length;
  const sum = (of: (entry: WorkerEntry) => number) => alive.reduce((n, one) => n + of(one), 0);
  return {
    workers: alive.length,
    lanes: { total: sum(({ lanes }) => lanes.length), busy: sum(busyOf) },
  };
}
