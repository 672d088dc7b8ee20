import { DIRECT_UPLOADS_FROM, HEARTBEAT_INTERVAL_MS } from "#shared/limits.ts";
import type { Registration } from "#shared/link/messages.ts";
import { DUPLICATE_WORKER_REASON, LINK_CLOSE } from "#shared/link/messages.ts";
import type { Capabilities } from "#shared/schema/worker.ts";
import type { HubContext } from "../context.ts";
import { deleteRegistration, isTaken, takeRegistration } from "./registration.ts";
import { type LinkSocket, WorkerLink } from "./worker-link.ts";

/** RFC 6455: the server met an unexpected condition. */
const INTERNAL_CLOSE = 1011;

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
    if (!other.closed && isTaken(ctx, other, hello)) {
      ctx.log.warn({ worker_id, address: hello.address }, "duplicate worker refused");
      socket.close(LINK_CLOSE.duplicate_worker, DUPLICATE_WORKER_REASON);
      return null;
    }
    await dropLink(ctx, other, LINK_CLOSE.replaced, "replaced by a newer link");
  }
  const link = new WorkerLink(socket, hello, correctCapabilities(hello), ctx.clock);
  ctx.links.set(worker_id, link);
  try {
    if (!(await takeRegistration(ctx, link, hello))) {
      ctx.log.warn({ worker_id, address: hello.address }, "duplicate worker refused");
      await dropLink(ctx, link, LINK_CLOSE.duplicate_worker, DUPLICATE_WORKER_REASON);
      return null;
    }
    await admit(ctx, link);
  } catch (err) {
    void dropLink(ctx, link, INTERNAL_CLOSE, "the hub cannot register workers now");
    throw err;
  }
  return link;
}

async function admit(ctx: HubContext, link: WorkerLink): Promise<void> {
  const { worker_id, address, hostname, version } = link;
  if (link.closed) return;
  await ctx.hooks.workerStarted(worker_id);
  await ctx.leases.releaseAll(worker_id);
  const last_seen_at = ctx.clock.now();
  const row = await ctx.db.workers.seen({ worker_id, address, hostname, version, last_seen_at });
  if (link.closed) return;
  link.status = row.status;
  link.ready = link.send({
    type: "HubRegistered",
    expected_worker_version: ctx.version,
    upload_token: link.upload_token,
    public_base_url: ctx.config.public_base_url,
    heartbeat_interval_ms: HEARTBEAT_INTERVAL_MS,
    ...(ctx.config.direct_uploads && { direct_uploads_from: DIRECT_UPLOADS_FROM }),
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
  // The worker may be at another hub by now: only what is this link's own is failed, given back and deleted.
  const held = [...link.held.values()].map(({ lease }) => lease);
  const leases = [...held, ...link.unreleased];
  // The database may be away: the link ends all the same, and its next registration, or the reconciler, does the rest.
  const steps = [
    () => ctx.hooks.linkLost(link),
    () => Promise.all(leases.map((l) => ctx.leases.release(worker_id, l.lane_idx, l.token))),
    () => deleteRegistration(ctx, link),
  ];
  for (const step of steps)
    await step().catch((err: unknown) =>
      ctx.log.error({ worker_id, err }, "link was not cleared up"),
    );
  if (ctx.links.get(worker_id) === link) ctx.links.delete(worker_id);
  link.held.clear();
  ctx.log.info({ worker_id, code, reason }, "worker link closed");
  ctx.signal("link closed", { worker_id, code, reason });
}
