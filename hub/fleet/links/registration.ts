import { findHub } from "#hub/platform/cluster/hubs.ts";
import type { ClusterContext } from "#hub/platform/context.ts";
import { HEARTBEAT_INTERVAL_MS, WORKER_LIVENESS_MS } from "#shared/protocol/limits.ts";
import type { Registration } from "#shared/protocol/link/messages.ts";
import type { FleetContext } from "../context.ts";
import { renewLink } from "./kept.ts";
import type { WorkerEntry } from "./parts.ts";
import type { Cut, WorkerLink } from "./worker-link.ts";

/** How long to wait for another hub to drop its link to a worker. */
const DROP_MS = 1_500;
/** A registration that others change in between is read again. */
const TAKE_TRIES = 3;
export const WORKER_PREFIX = "worker:";
const keyOf = (worker_id: string) => `${WORKER_PREFIX}${worker_id}`;

export const entryOf = (ctx: Pick<FleetContext, "hub_id">, link: WorkerLink): WorkerEntry => ({
  worker_id: link.worker_id,
  instance_id: link.instance_id,
  address: link.address,
  hostname: link.hostname,
  version: link.version,
  capabilities: link.capabilities,
  lanes: [...link.lanes.values()],
  load: link.load,
  profiles: link.profiles,
  update: link.update,
  waits_for_order: link.waits_for_order,
  connected_at: link.connected_at,
  last_heartbeat_at: link.last_heartbeat_at,
  cut_at: link.cut?.at ?? null,
  link_hub: ctx.hub_id,
  on_hub_host: link.on_hub_host,
});

/** What makes a registration this link's, and nobody else's. */
const ownFields = (ctx: Pick<FleetContext, "hub_id">, { instance_id }: WorkerLink) => ({
  link_hub: ctx.hub_id,
  instance_id,
});

/** False when another link has registered the worker, and this one no longer counts. */
export const publishWorker = (
  ctx: Pick<FleetContext, "kv" | "hub_id">,
  link: WorkerLink,
): Promise<boolean> => {
  link.untold = false;
  const entry = entryOf(ctx, link);
  return ctx.kv.setIf(keyOf(link.worker_id), ownFields(ctx, link), entry, WORKER_LIVENESS_MS);
};

/**
 * Renews the registration and the leases of a worker that was heard from.
 * @returns false when the worker is linked to another hub by now: this link is stale, and nothing is renewed.
 */
export async function keepWorker(
  ctx: Pick<FleetContext, "leases" | "kept" | "kv" | "hub_id">,
  link: WorkerLink,
): Promise<boolean> {
  if (!(await publishWorker(ctx, link))) return false;
  const leases = [...link.held.values()].map((held) => held.lease);
  await ctx.leases.renew(link.worker_id, leases, WORKER_LIVENESS_MS);
  await renewLink(ctx, link.worker_id);
  return true;
}

/** For GET /workers at the other hubs: announces what changed on the lanes since the last time. */
export async function publishChangesOnce(
  ctx: Pick<FleetContext, "links" | "kv" | "hub_id">,
): Promise<void> {
  for (const link of ctx.links.values())
    if (link.untold && link.ready && !link.left && !link.closed) await publishWorker(ctx, link);
}

/**
 * The link has ended; a registration that belongs to another link by now stays.
 * @returns whether there is one: then the worker has moved, and what it runs is for the hub it has moved to.
 */
export async function giveUpRegistration(
  ctx: Pick<FleetContext, "kv" | "hub_id">,
  link: WorkerLink,
): Promise<boolean> {
  const key = keyOf(link.worker_id);
  if (await ctx.kv.deleteIf(key, ownFields(ctx, link))) return false;
  return (await ctx.kv.get<WorkerEntry>(key)) !== null;
}

/** What is known about the process that has the worker_id: a link of this hub, or a registration at another. */
type Holder = Pick<WorkerEntry, "instance_id" | "address" | "hostname" | "last_heartbeat_at"> & {
  cut_at?: number | null;
  /** For a link of this hub. */
  heard_at?: number;
  cut?: Cut | null;
};

/** The kernel closes the socket of a process that ends; one whose last heartbeat is no older than this is alive. */
const STILL_SENDING_MS = 2 * HEARTBEAT_INTERVAL_MS;

/**
 * Whether another live process has the worker_id: on another host, or a twin on the same host. The two would otherwise
 * take it from each other forever. A restart, or the same process dialling again, takes over.
 */
export function isTaken(
  ctx: Pick<FleetContext, "clock">,
  holder: Holder,
  hello: Registration,
): boolean {
  const silent_ms =
    holder.heard_at === undefined
      ? ctx.clock.now() - holder.last_heartbeat_at
      : ctx.clock.monotonic() - holder.heard_at;
  if (silent_ms > WORKER_LIVENESS_MS || holder.instance_id === hello.instance_id) return false;
  const same_host = holder.address === hello.address && holder.hostname === hello.hostname;
  const has_socket = !holder.cut && !holder.cut_at;
  return !same_host || (has_socket && silent_ms <= STILL_SENDING_MS);
}

/**
 * Makes the registration in the shared store this link's. A registration at another hub gives way unless both its
 * process and that hub are alive; the hub is asked to drop its link first, so that what it had not delivered goes back
 * to the queue. A hub whose link is taken up is not asked: it would fail what should go on.
 * @returns false when the worker_id is taken.
 */
export async function takeRegistration(
  ctx: ClusterContext,
  link: WorkerLink,
  hello: Registration,
  takes_up: boolean,
): Promise<boolean> {
  const key = keyOf(link.worker_id);
  for (let tries = 0; tries < TAKE_TRIES; tries += 1) {
    const entry = await ctx.kv.get<WorkerEntry>(key);
    if (link.closed) return true;
    if (entry && entry.link_hub !== ctx.hub_id) {
      if (isTaken(ctx, entry, hello) && (await findHub(ctx, entry.link_hub))) return false;
      if (!takes_up) await askToDrop(ctx, entry);
    }
    if (entry) {
      const { link_hub, instance_id } = entry;
      await ctx.kv.deleteIf(key, { link_hub, instance_id });
    }
    if (await publishWorker(ctx, link)) return true;
  }
  return false;
}

/** Waits until the other hub has dropped its link to this worker, if that hub is still there. */
async function askToDrop(
  ctx: Pick<FleetContext, "log" | "cluster" | "clock">,
  entry: WorkerEntry,
): Promise<void> {
  const { worker_id, instance_id, link_hub } = entry;
  ctx.log.info({ worker_id, link_hub }, "worker moves here from another hub");
  if (!ctx.cluster.peers.has(link_hub)) return;
  const { dropping } = ctx.cluster;
  const over = new AbortController();
  const dropped = () => over.abort();
  dropping.set(worker_id, dropped);
  ctx.cluster.tell({ type: "link_taken", to: link_hub, worker_id, instance_id });
  await ctx.clock.sleep(DROP_MS, over.signal);
  if (dropping.get(worker_id) === dropped) dropping.delete(worker_id);
}
