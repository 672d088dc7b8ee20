import type { HostRow, JobRow } from "#hub/platform/db/rows.ts";
import type { SentBrowser } from "#shared/protocol/link/sent-browser-options.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import { browserFor, browserOptionsFor } from "../registries/browser-options.ts";
import { tell } from "./events.ts";

/** What the worker is told of the job's browser; its log says what is left out. */
export async function browserOfJob(
  ctx: Pick<FleetContext, "config" | "clock" | "settings_cache" | "db" | "bus">,
  { job_id, options }: JobRow,
  host: HostRow | null,
  link: Pick<WorkerLink, "worker_id" | "capabilities">,
): Promise<SentBrowser> {
  if (options.attach !== null || options.attach_to_job !== null) return { browser_options: null };
  const merged = await browserOptionsFor(ctx, options, host);
  const { told, troubles } = await browserFor(ctx, link, { asked: options, host, merged });
  for (const trouble of troubles) await tell(ctx, job_id, "warn", "assigned", trouble);
  return told;
}
