import { HEARTBEAT_INTERVAL_MS, WORKER_LIVENESS_MS } from "#shared/limits.ts";
import type { Registration } from "#shared/link/messages.ts";
import { DUPLICATE_WORKER_REASON, LINK_CLOSE } from "#shared/link/messages.ts";
import type { Capabilities, HostLoad, Lane } from "#shared/schema/worker.ts";
import type { HubContext } from "../context.ts";
import { type LinkSocket, WorkerLink } from "./worker-link.ts";

/** What every hub may know of a worker: the value of `worker:<id>` in the shared store. Times epoch ms. */
export interface WorkerEntry {
  worker_id: string;
  instance_id: string;
  address: string;
  hostname: string;
  version: string;
  capabilities: Capabilities;
  lanes: Lane[];
  load: HostLoad;
  profiles: string[];
  connected_at: number;
  last_heartbeat_at: number;
  link_hub: string;
}

/** RFC 6455: the server met an unexpected condition. */
const INTERNAL_CLOSE = 1011;

export const WORKER_PREFIX = "worker:";
const keyOf = (worker_id: string) => `${WORKER_PREFIX}${worker_id}`;

export const entryOf = (ctx: HubContext, link: WorkerLink): WorkerEntry => ({
  worker_id: link.worker_id,
  instance_id: link.instance_id,
  address: link.address,
  hostname: link.hostname,
  version: link.version,
  capabilities: link.capabilities,
  lanes: [...link.lanes.values()],
  load: link.load,
  profiles: link.profiles,
  connected_at: link.connected_at,
  last_heartbeat_at: link.last_heartbeat_at,
  link_hub: ctx.hub_id,
});

export const publishWorker = (ctx: HubContext, link: WorkerLink): Promise<void> =>
  ctx.kv.set(keyOf(link.worker_id), entryOf(ctx, link), WORKER_LIVENESS_MS);

const LOCAL_NAMES = new Set(["localhost", "127.0.0.1", "[::1]", "0.0.0.0"]);

/** A worker that does not know its name in the LAN says localhost; the hub corrects it (fleet spec §8). */
export function correctViewerUrl(url: string, address: string): string {
  if (!URL.canParse(url) || address === "") return url;
  const parsed = new URL(url);
  if (!LOCAL_NAMES.has(parsed.hostname)) return url;
  const host = address.includes(":") && !address.startsWith("[") ? `[${address}]` : address;
  return url.replace(parsed.hostname, host);
}

function correctCapabilities(hello: Registration): Capabilities {
  const fix = (url: string) => correctViewerUrl(url, hello.address);
  const { lane_novnc_urls, novnc_url } = hello.capabilities;
  return {
    ...hello.capabilities,
    lane_novnc_urls: lane_novnc_urls.map(fix),
    novnc_url: novnc_url === null ? null : fix(novnc_url),
  };
}

const isLive = (ctx: HubContext, link: WorkerLink) =>
  !link.closed && ctx.clock.now() - link.last_heartbeat_at <= WORKER_LIVENESS_MS;

/** A process that ended has its socket closed by the kernel; one that still sent heartbeats this long ago lives. */
const STILL_SENDING_MS = 2 * HEARTBEAT_INTERVAL_MS;

/**
 * Whether the link is held by another live process: on another host, or a twin on the same host, which would
 * otherwise take the worker_id from each other for ever. A restart, or the same process dialling again, takes over.
 */
function isTaken(ctx: HubContext, link: WorkerLink, hello: Registration): boolean {
  if (!isLive(ctx, link) || link.instance_id === hello.instance_id) return false;
  const same_host = link.address === hello.address && link.hostname === hello.hostname;
  return !same_host || ctx.clock.now() - link.last_heartbeat_at <= STILL_SENDING_MS;
}

/**
 * Registers a worker whose secret was checked. What an earlier incarnation was running is failed first.
 * @returns null when the newcomer was sent away.
 */
export async function registerWorker(
  ctx: HubContext,
  socket: LinkSocket,
  hello: Registration,
): Promise<WorkerLink | null> {
  const { worker_id } = hello;
  for (let other = ctx.links.get(worker_id); other; other = ctx.links.get(worker_id)) {
    if (isTaken(ctx, other, hello)) {
      ctx.log.warn({ worker_id, address: hello.address }, "duplicate worker refused");
      socket.close(LINK_CLOSE.duplicate_worker, DUPLICATE_WORKER_REASON);
      return null;
    }
    await dropLink(ctx, other, LINK_CLOSE.replaced, "replaced by a newer link");
  }
  const link = new WorkerLink(socket, hello, correctCapabilities(hello), ctx.clock.now());
  ctx.links.set(worker_id, link);
  try {
    await admit(ctx, link);
  } catch (err) {
    void dropLink(ctx, link, INTERNAL_CLOSE, "the hub cannot register workers now");
    throw err;
  }
  return link;
}

async function admit(ctx: HubContext, link: WorkerLink): Promise<void> {
  const { worker_id, address, hostname, version } = link;
  await ctx.hooks.workerLost(worker_id);
  await ctx.leases.releaseAll(worker_id);
  const last_seen_at = ctx.clock.now();
  const row = await ctx.db.workers.seen({ worker_id, address, hostname, version, last_seen_at });
  if (link.closed) return;
  link.status = row.status;
  await publishWorker(ctx, link);
  link.ready = link.send({
    type: "HubRegistered",
    expected_worker_version: ctx.version,
    upload_token: link.upload_token,
    public_base_url: ctx.config.public_base_url,
    heartbeat_interval_ms: HEARTBEAT_INTERVAL_MS,
  });
  ctx.log.info({ worker_id, address, version, lanes: link.lanes.size }, "worker registered");
  ctx.signal("worker registered", { worker_id });
  ctx.hooks.laneFree();
}

/**
 * Ends a link, once: what it said before is handled, what it runs is failed, its lanes are given back.
 * Resolves when all that is done; called again it waits for the first run.
 */
export function dropLink(
  ctx: HubContext,
  link: WorkerLink,
  code: number,
  reason: string,
): Promise<void> {
  link.closed = true;
  // In a later microtask: closing the socket calls back here before it returns.
  link.dropped ??= Promise.resolve().then(() => endLink(ctx, link, code, reason));
  return link.dropped;
}

async function endLink(
  ctx: HubContext,
  link: WorkerLink,
  code: number,
  reason: string,
): Promise<void> {
  const { worker_id } = link;
  link.closeSocket(code, reason);
  await link.handled;
  // Assignments without an answer go back to the queue; only what the worker accepted is lost with it.
  for (const held of link.held.values()) held.answer({ kind: "closed" });
  await Promise.all([...link.held.values()].map((held) => held.settled));
  if (ctx.links.get(worker_id) === link) {
    // The database may be away: the link ends all the same, and its next registration, or the reconciler, does the rest.
    const steps = [
      () => ctx.hooks.workerLost(worker_id),
      () => ctx.leases.releaseAll(worker_id),
      () => ctx.kv.delete(keyOf(worker_id)),
    ];
    for (const step of steps)
      await step().catch((err) => ctx.log.error({ worker_id, err }, "link was not cleared up"));
    ctx.links.delete(worker_id);
  }
  link.held.clear();
  ctx.log.info({ worker_id, code, reason }, "worker link closed");
  ctx.signal("link closed", { worker_id, code, reason });
}
