import type { WorkloadRow } from "#hub/platform/db/rows.ts";

/** How long its tasks are leased and may run, in milliseconds; null: no limit but the lease. */
export const limitsOf = ({ lease_secs, timeout_s }: WorkloadRow) => ({
  lease_ms: lease_secs * 1_000,
  timeout_ms: timeout_s === null ? null : Math.round(timeout_s * 1_000),
});
