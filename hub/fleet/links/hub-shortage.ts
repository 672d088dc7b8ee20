import type { WaitingFor } from "#shared/protocol/schema/job.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import type { FleetContext } from "../context.ts";

type Held = Pick<FleetContext, "draining" | "disk_room" | "hub_id">;

/** Whether this hub gives no lane to anybody, however many are free: it was asked to stop, or its disk is short. */
export const assignsNothing = ({ draining, disk_room }: Omit<Held, "hub_id">): boolean =>
  draining.aborted || disk_room.shortage !== null;

/** Why this hub gives no lane; null while workers are linked to another one, which does. */
export function hubShortage(
  { draining, disk_room, hub_id }: Held,
  workers: readonly Worker[],
): WaitingFor | null {
  if (workers.some(({ alive, link_hub }) => alive && link_hub !== hub_id)) return null;
  if (draining.aborted)
    return { reason: "stopping", detail: "the hub is stopping and no longer assigns anything" };
  const { shortage } = disk_room;
  return shortage === null ? null : { reason: "hub_disk_full", detail: shortage };
}
