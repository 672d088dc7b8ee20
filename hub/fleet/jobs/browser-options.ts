import type { HostRow, JobRow } from "#hub/platform/db/rows.ts";
import type { BrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import { browserOptionsFor, forWorker } from "../registries/browser-options.ts";
import { tell } from "./events.ts";

/** What the browser of a job shows its pages; null: what it is, or what whoever opened it has chosen. */
export async function browserOptionsOfJob(
  ctx: Pick<FleetContext, "config" | "clock" | "settings_cache" | "db" | "bus">,
  { job_id, options }: JobRow,
  host: HostRow | null,
  link: Pick<WorkerLink, "worker_id" | "capabilities">,
): Promise<BrowserOptions | null> {
  if (options.attach !== null || options.attach_to_job !== null) return null;
  const { shown, left_out } = forWorker(await browserOptionsFor(ctx, options, host), link);
  if (left_out.length > 0) {
    const text = `worker ${link.worker_id} is of a version that cannot show pages ${left_out.join(", ")}: left out`;
    await tell(ctx, job_id, "warn", "assigned", text);
  }
  return shown;
}
