import { findHub, type HubEntry } from "#hub/platform/cluster/hubs.ts";
import type { ClusterContext } from "#hub/platform/context.ts";
import { WORKER_ID } from "#shared/protocol/ids.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerEntry } from "../links/parts.ts";
import { WORKER_PREFIX } from "../links/registration.ts";
import { demandWhole, lookUp } from "./places.ts";

/**
 * The other hub that holds the worker's link; null when it is this one, or nobody does.
 * @throws AppError unavailable when the shared store does not answer, or has just been emptied: a worker that hears
 *   that its token or lease is void discards what it captured.
 */
export async function findLinkHub(
  ctx: ClusterContext & Pick<FleetContext, "links">,
  worker_id: string,
): Promise<HubEntry | null> {
  if (ctx.links.has(worker_id) || !WORKER_ID.test(worker_id)) return null;
  const entry = await lookUp(ctx, ctx.kv.get<WorkerEntry>(`${WORKER_PREFIX}${worker_id}`));
  if (!entry) await demandWhole(ctx);
  if (!entry || entry.link_hub === ctx.hub_id) return null;
  const hub = await lookUp(ctx, findHub(ctx, entry.link_hub));
  if (!hub) await demandWhole(ctx);
  return hub;
}
