import type { LaneLease } from "#hub/platform/stores/leases.ts";
import {
  DIRECT_UPLOADS_FROM,
  HEARTBEAT_INTERVAL_MS,
  WORKER_LIVENESS_MS,
} from "#shared/protocol/limits.ts";
import {
  DUPLICATE_WORKER_REASON,
  HUB_RESTARTING_REASON,
  isCut,
  LINK_CLOSE,
} from "#shared/protocol/link/close.ts";
import type { HubRegistered, Registration } from "#shared/protocol/link/messages.ts";
import type { UpdateOrder } from "#shared/protocol/schema/updates.ts";
import type { Capabilities } from "#shared/protocol/schema/worker.ts";
import type { FleetContext } from "../context.ts";
import { notAwaited } from "./awaited.ts";
import { forgetWorker } from "./kept.ts";
import type { LeftLink } from "./left-link.ts";
import type { LinkEndContext, RegisterContext } from "./link-contexts.ts";
import { causeOf, type LossCause } from "./loss.ts";
import { placesFor } from "./places.ts";
import { giveUpRegistration, isTaken, publishWorker, takeRegistration } from "./registration.ts";
import { keepLinkForNext, leftLink } from "./take-up.ts";
import { type LinkSocket, WorkerLink } from "./worker-link.ts";

/** RFC 6455: the server met an unexpected condition. */
const INTERNAL_CLOSE = 1011;

const LOCAL_NAMES = new Set(["localhost", "127.0.0.1", "[::1]", "0.0.0.0"]);

/**
 * A worker that does not know its name on the LAN says localhost; the hub corrects it
 * (rules/lanes#viewer-links-of-a-lane).
 */
function correctViewerUrl(url: string, address: string): string {
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
 * Registers a worker whose secret was checked. What an earlier incarnation was running fails first; the same one goes
 * on with its link where it can.
 * @param bind gets the link as soon as the socket belongs to it.
 * @returns null when the newcomer was sent away.
 */
export async function registerWorker(
  ctx: RegisterContext,
  socket: LinkSocket,
  hello: Registration,
  bind: (link: WorkerLink) => void,
): Promise<WorkerLink | null> {
  const { worker_id } = hello;
  const left = ctx.links.has(worker_id) ? null : await leftLink(ctx, hello);
  const before = ctx.links.get(worker_id);
  if (before?.canResume(hello)) {
    bind(before);
    return resumeLink(ctx, before, socket, hello);
  }
  for (let other = ctx.links.get(worker_id); other; other = ctx.links.get(worker_id)) {
    // A link without a socket may have died: a newcomer on its host takes over, as after a restart.
    if (!other.closed && isTaken(ctx, other, hello)) {
      ctx.log.warn({ worker_id, address: hello.address }, "duplicate worker refused");
      socket.close(LINK_CLOSE.duplicate_worker, DUPLICATE_WORKER_REASON);
      return null;
    }
    const why = other.instance_id === hello.instance_id ? "anew" : "restarted";
    await dropLink(ctx, other, LINK_CLOSE.replaced, "replaced by a newer link", why);
  }
  const link = new WorkerLink(socket, hello, correctCapabilities(hello), ctx.clock, left);
  ctx.links.set(worker_id, link);
  bind(link);
  try {
    if (!(await takeRegistration(ctx, link, hello, left !== null))) {
      ctx.log.warn({ worker_id, address: hello.address }, "duplicate worker refused");
      await dropLink(ctx, link, LINK_CLOSE.duplicate_worker, DUPLICATE_WORKER_REASON, "closed");
      return null;
    }
    await (left ? takeUp(ctx, link, left) : admit(ctx, link));
  } catch (err) {
    void dropLink(ctx, link, INTERNAL_CLOSE, "the hub cannot register workers now", "broken");
    throw err;
  }
  return link;
}

async function admit(ctx: RegisterContext, link: WorkerLink): Promise<void> {
  const { worker_id, address, version } = link;
  if (link.closed) return;
  notAwaited(ctx, worker_id);
  await forgetWorker(ctx, worker_id);
  await ctx.hooks.workerStarted(worker_id);
  await ctx.leases.releaseAll(worker_id);
  await keepLinkForNext(ctx, link, null);
  const places = await placesFor(ctx, link);
  const { status } = await seen(ctx, link);
  if (link.closed) return;
  link.status = status;
  link.ready = link.send(welcome(ctx, link, places));
  ctx.log.info({ worker_id, address, version, lanes: link.lanes.size }, "worker registered");
  ctx.signal("worker registered", { worker_id });
  ctx.hooks.laneFree();
}

/** A worker that waits for its update order gets it with its welcome and with every acknowledgement of a heartbeat. */
export const orderOf = (
  { rollout }: Pick<FleetContext, "rollout">,
  { waits_for_order, worker_id, version }: WorkerLink,
): { update?: UpdateOrder } => {
  if (!waits_for_order) return {};
  const update = rollout.orderFor({ kind: "browser", worker_id, version });
  // Nobody updates before the first look at the fleet.
  return { update: update ?? { target: version, go: false } };
};

const seen = (
  ctx: Pick<FleetContext, "db" | "clock">,
  { worker_id, address, hostname, version }: WorkerLink,
) => ctx.db.workers.seen({ worker_id, address, hostname, version, last_seen_at: ctx.clock.now() });

/** The hub that had the link is gone, and the worker still runs what it was given: it all goes on, under its leases. */
async function takeUp(ctx: RegisterContext, link: WorkerLink, left: LeftLink): Promise<void> {
  const { worker_id, version } = link;
  if (link.closed) return;
  const places = await placesFor(ctx, link);
  const { status } = await seen(ctx, link);
  // First, so messages that come while its runs are looked up follow the welcome.
  if (!link.send({ ...welcome(ctx, link, places), resumed: { received: left.received } })) return;
  await ctx.hooks.takenUp(link, left);
  const leases = await takeLeases(ctx, link);
  await keepLinkForNext(ctx, link, null);
  notAwaited(ctx, worker_id);
  if (link.closed) return;
  link.status = status;
  link.ready = true;
  ctx.log.info(
    { worker_id, version, runs: leases.length },
    "worker taken up from the previous hub",
  );
  ctx.signal("link taken up", { worker_id });
  ctx.hooks.laneFree();
}

/**
 * This hub now renews the leases of what the worker runs; a lane that was leased but never handed over is free again.
 */
async function takeLeases(
  ctx: Pick<FleetContext, "leases">,
  { worker_id, held }: WorkerLink,
): Promise<LaneLease[]> {
  const leases = [...held.values()].map(({ lease }) => lease);
  const tokens = new Set(leases.map(({ token }) => token));
  for (const { lane_idx, token } of await ctx.leases.list(worker_id))
    if (!tokens.has(token)) await ctx.leases.release(worker_id, lane_idx, token);
  await ctx.leases.renew(worker_id, leases, WORKER_LIVENESS_MS);
  return leases;
}

const welcome = (
  ctx: Pick<FleetContext, "version" | "config" | "rollout">,
  link: WorkerLink,
  places: Pick<HubRegistered, "fleet_places"> = {},
): HubRegistered => ({
  type: "HubRegistered",
  expected_worker_version: ctx.version,
  ...orderOf(ctx, link),
  ...places,
  upload_token: link.upload_token,
  public_base_url: ctx.config.public_base_url,
  heartbeat_interval_ms: HEARTBEAT_INTERVAL_MS,
  ...(ctx.config.direct_uploads && { direct_uploads_from: DIRECT_UPLOADS_FROM }),
  late_uploads: true,
  ...(link.outbox && { link_grace_ms: ctx.config.link_grace_ms }),
});

/** A newcomer may dial other hubs under this worker_id: they see in the registry whether the link has a socket. */
const tellRegistry = async (
  ctx: Pick<FleetContext, "cluster" | "log" | "kv" | "hub_id">,
  link: WorkerLink,
): Promise<void> => {
  if (!ctx.cluster.shared) return;
  const { worker_id } = link;
  await publishWorker(ctx, link).catch((err) =>
    ctx.log.warn({ worker_id, err }, "could not record a cut link in the registry"),
  );
};

/** The same process is back, and nothing was lost in the meantime: what it runs goes on. */
async function resumeLink(
  ctx: Pick<
    FleetContext,
    | "clock"
    | "cluster"
    | "config"
    | "hooks"
    | "hub_id"
    | "kv"
    | "log"
    | "rollout"
    | "signal"
    | "version"
  >,
  link: WorkerLink,
  socket: LinkSocket,
  hello: Registration,
): Promise<WorkerLink> {
  const { worker_id, handled } = link;
  const resumed = { received: link.received };
  const before_ms = link.cutMs(ctx.clock);
  const was_cut = link.cut !== null;
  link.resume(ctx.clock, socket, { ...welcome(ctx, link), resumed }, hello.resume?.received ?? 0);
  const cut_ms = was_cut ? before_ms - link.told_cut_ms : 0;
  link.told_cut_ms = before_ms;
  ctx.log.info({ worker_id, cut_ms }, "worker is back on its link");
  ctx.signal("link resumed", { worker_id });
  // What came over the previous socket is handled before what comes over this one.
  await handled;
  const failed = (err: unknown) =>
    ctx.log.error({ worker_id, err }, "could not announce that a link is back");
  if (was_cut) await ctx.hooks.linkBack(link, cut_ms).catch(failed);
  await tellRegistry(ctx, link);
  if (!link.closed) ctx.hooks.laneFree();
  return link;
}

/**
 * The socket of a link is gone. The hub waits for a worker that can go on with the link (SVC_LINK_GRACE_S), with its
 * lanes, jobs and sessions unchanged; any other link ends.
 */
export function socketGone(
  ctx: LinkEndContext & Pick<FleetContext, "cluster" | "stopping">,
  link: WorkerLink,
  socket: LinkSocket,
  code: number,
  reason: string,
): void {
  if (link.closed || !link.isOn(socket) || link.cut !== null) return;
  const { worker_id } = link;
  const failed = (err: unknown) => ctx.log.error({ worker_id, err }, "link was not ended");
  const said = `code ${code}${reason === "" ? "" : `: ${reason}`}`;
  const grace_ms = link.outbox && link.ready ? ctx.config.link_grace_ms : 0;
  if (grace_ms === 0 || ctx.stopping.aborted || !isCut(code, reason)) {
    const why = isCut(code, reason) ? "broken" : "closed";
    return void dropLink(ctx, link, code, reason, why, said).catch(failed);
  }
  const cut = link.lose(ctx.clock, said);
  ctx.log.warn({ worker_id, code, reason, grace_ms }, "worker link cut; waiting for the worker");
  ctx.signal("link cut", { worker_id, code, reason });
  void ctx.hooks.linkCut(link).catch(failed);
  void tellRegistry(ctx, link);
  void ctx.clock.sleep(grace_ms, cut.over.signal).then(() => {
    if (link.cut === cut && !link.closed)
      return dropLink(ctx, link, code, reason, "broken", said).catch(failed);
  });
}

/**
 * Ends a link, once: handles what it said before, fails what it runs, and gives its lanes back.
 * Resolves when all of that is done; a second call waits for the first.
 */
export function dropLink(
  ctx: LinkEndContext,
  link: WorkerLink,
  code: number,
  reason: string,
  why: LossCause,
  said = reason,
): Promise<void> {
  link.closed = true;
  link.cut?.over.abort();
  // In a later microtask: closing the socket calls back here before it returns.
  const cause = causeOf(ctx, link, why, said);
  link.dropped ??= Promise.resolve().then(() => endLink(ctx, link, code, reason, cause));
  return link.dropped;
}

async function endLink(
  ctx: LinkEndContext,
  link: WorkerLink,
  code: number,
  reason: string,
  cause: string,
): Promise<void> {
  const { worker_id } = link;
  link.closeSocket(code, reason);
  await link.handled;
  // Unanswered assignments go back to the queue; only what the worker accepted is lost with it.
  for (const held of link.held.values()) held.answer({ kind: "closed" });
  await Promise.all([...link.held.values()].map((held) => held.settled));
  const held = [...link.held.values()].map(({ lease }) => lease);
  const leases = [...held, ...link.unreleased];
  const release = () =>
    Promise.all(leases.map((l) => ctx.leases.release(worker_id, l.lane_idx, l.token)));
  // The database may be away: the link ends anyway, and the next registration, or the reconciler, does the rest.
  const failed = (err: unknown) => ctx.log.error({ worker_id, err }, "link was not cleaned up");
  // A hub that was paused (SIGSTOP) may find its worker at another hub, still running under the same leases.
  const moved = await giveUpRegistration(ctx, link).catch((err: unknown) => {
    failed(err);
    return false;
  });
  if (!moved) await forgetWorker(ctx, worker_id).catch(failed);
  await ctx.hooks.linkLost(link, cause, moved).catch(failed);
  if (!moved) await release().catch(failed);
  if (ctx.links.get(worker_id) === link) ctx.links.delete(worker_id);
  link.held.clear();
  link.uploading.clear();
  ctx.log.info({ worker_id, code, reason, cause }, "worker link closed");
  ctx.signal("link closed", { worker_id, code, reason });
}

/**
 * This hub stops, and the worker keeps what it runs for the next hub, or for another: everything it has said is
 * handled, what it was offered and has not taken goes back to the queue, and nothing is failed, ended or given back.
 */
export async function leaveLink(ctx: LinkEndContext, link: WorkerLink): Promise<void> {
  const { worker_id } = link;
  link.left = true;
  await link.handled;
  for (const held of link.held.values()) if (!held.accepted) held.answer({ kind: "closed" });
  await Promise.all([...link.held.values()].map((held) => held.settled));
  await ctx.hooks.leaving(link);
  const moved = await giveUpRegistration(ctx, link);
  if (!moved) await keepLinkForNext(ctx, link, link.handled_count);
  link.closed = true;
  link.cut?.over.abort();
  link.closeSocket(LINK_CLOSE.restarting, HUB_RESTARTING_REASON);
  ctx.links.delete(worker_id);
  ctx.log.info({ worker_id, runs: link.held.size }, "worker left to the next hub");
  ctx.signal("link left", { worker_id });
}
