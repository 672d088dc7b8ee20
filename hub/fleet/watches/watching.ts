import type { JobRow } from "#hub/platform/db/rows.ts";
import { endsWithin } from "#shared/kit/clock.ts";
import type { FleetContext } from "../context.ts";
import type { Watching } from "../jobs/parts.ts";
import { type CaptureContext, decideCapture } from "./decide.ts";

/** A hub that stops waits this long for comparisons under way; another one makes them again. */
const STOP_MS = 5_000;

type WatchingContext = CaptureContext & Pick<FleetContext, "stopping">;

/** Follows the captures whose end this hub announces. */
export function createWatching(of: () => WatchingContext): Watching {
  const running = new Set<Promise<void>>();
  const decided = async (row: JobRow): Promise<JobRow> => {
    const ctx = of();
    if (row.watch_id === null || ctx.stopping.aborted) return row;
    try {
      return (await decideCapture(ctx, row.watch_id, row.job_id)) ?? row;
    } catch (err) {
      const { watch_id, job_id } = row;
      ctx.log.warn({ watch_id, job_id, err }, "a capture could not be compared yet");
      return row;
    }
  };
  return {
    ended: (row, told) => {
      const run = decided(row)
        .then(told)
        .catch((err) => of().log.error({ job_id: row.job_id, err }, "the end was not told"))
        .finally(() => running.delete(run));
      running.add(run);
    },
    stop: async () => {
      await endsWithin(of().clock, STOP_MS, Promise.all(running));
    },
  };
}
