import { WORKER_ID } from "#shared/ids.ts";
import { findHub, type HubEntry } from "../cluster/hubs.ts";
import type { HubContext } from "../context.ts";
import { WORKER_PREFIX, type WorkerEntry } from "../fleet/registration.ts";
import { lookUp } from "./places.ts";

/**
 * The other hub that holds the worker's link; null when it is this one, or nobody does.
 * @throws AppError unavailable when the shared store does not answer.
 */
export async function findLinkHub(ctx: HubContext, worker_id: string): Promise<HubEntry | null> {
  if (ctx.links.has(worker_id) || !WORKER_ID.test(worker_id)) return null;
  const entry = await lookUp(ctx, ctx.kv.get<WorkerEntry>(`${WORKER_PREFIX}${worker_id}`));
  if (!entry || entry.link_hub === ctx.hub_id) return null;
  return lookUp(ctx, findHub(ctx, entry.link_hub));
}
