import type { PullWorkerRow } from "#hub/platform/db/rows.ts";
import type { WallJumps } from "#shared/kit/wall-jumps.ts";
import { PULL_OFFLINE_MS } from "#shared/protocol/schema/pull.ts";

/** Whether the worker reported recently; one that did not is shown as offline. */
export const isLive = (
  wall_jumps: WallJumps,
  { last_heartbeat_at }: Pick<PullWorkerRow, "last_heartbeat_at">,
): boolean => wall_jumps.ageOf(last_heartbeat_at) <= PULL_OFFLINE_MS;
