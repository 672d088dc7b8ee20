import type { JobRow } from "#hub/platform/db/rows.ts";
import type { FleetContext } from "../context.ts";

const OUTCOMES = ["captured", "partial", "lost", "skipped"] as const;

/** Counts a job that has ended, once, where its end is announced. */
export function countEnd({ meters }: Pick<FleetContext, "meters">, row: JobRow): void {
  const { status, started_at, finished_at, capture, asset_bytes } = row;
  meters.finished.inc({ status });
  if (started_at !== null && finished_at !== null)
    meters.run.observe({ status }, Math.max(0, finished_at - started_at) / 1_000);
  if (asset_bytes > 0) meters.capture_bytes.inc(asset_bytes);
  if (capture === null) return;
  for (const outcome of OUTCOMES) meters.bodies.inc({ outcome }, capture[outcome]);
}
