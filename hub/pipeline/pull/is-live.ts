import type { PullWorkerRow } from "#hub/platform/db/rows.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { PULL_OFFLINE_MS } from "#shared/protocol/schema/pull.ts";

/** Whether the worker reported recently; one that did not is shown as offline. */
export const isLive = (
  clock: Clock,
  { last_heartbeat_at }: Pick<PullWorkerRow, "last_heartbeat_at">,
): boolean => clock.now() - last_heartbeat_at <= PULL_OFFLINE_MS;
