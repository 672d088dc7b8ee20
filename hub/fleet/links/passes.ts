import { WORKER_LIVENESS_MS } from "#shared/protocol/limits.ts";
import { LINK_CLOSE } from "#shared/protocol/link/close.ts";
import type { FleetContext } from "../context.ts";
import type { LinkEndContext } from "./link-contexts.ts";
import { dropLink } from "./registry.ts";

/** How long a socket may stay without a registration. */
const REGISTRATION_MS = 10_000;

/** Ends links without a heartbeat for 120 s (rules/workers#alive) and sockets that never registered. */
export async function livenessOnce(
  ctx: LinkEndContext & Pick<FleetContext, "handshakes">,
): Promise<void> {
  const now = ctx.clock.monotonic();
  for (const [socket, opened_at] of [...ctx.handshakes]) {
    if (now - opened_at <= REGISTRATION_MS) continue;
    ctx.handshakes.delete(socket);
    socket.close(LINK_CLOSE.bad_message, "no registration");
  }
  const silent = [...ctx.links.values()].filter((link) => now - link.heard_at > WORKER_LIVENESS_MS);
  await Promise.all(
    silent.map((link) =>
      dropLink(ctx, link, LINK_CLOSE.liveness, "no heartbeat for 120 s", "silent"),
    ),
  );
}

/** Records which workers were heard from since `since`, a time of the monotonic clock. */
export async function touchWorkersOnce(
  ctx: Pick<FleetContext, "links" | "db" | "clock">,
  since: number,
): Promise<void> {
  const heard = [...ctx.links.values()].filter((link) => link.heard_at >= since);
  const ids = heard.map((link) => link.worker_id);
  if (ids.length > 0) await ctx.db.workers.touch(ids, ctx.clock.now());
}

/** The statuses that operators set at other hubs: announced at once, and read here in case the message was lost. */
export async function readStatusesOnce(
  ctx: Pick<FleetContext, "cluster" | "db" | "links">,
): Promise<void> {
  if (ctx.cluster.peers.size === 0) return;
  for (const { worker_id, status } of await ctx.db.workers.list()) {
    const link = ctx.links.get(worker_id);
    if (link?.ready) link.status = status;
  }
}
