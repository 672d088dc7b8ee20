import type { FleetContext } from "../context.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import { tell } from "./events.ts";

/** What the logs of jobs say when their worker's link is cut while they run. */

const running = (link: WorkerLink) => link.jobLanes().filter((held) => held.accepted && !held.done);

/** The link has no socket, and its worker is waited for. */
export async function tellCut(
  ctx: Pick<FleetContext, "config" | "clock" | "db" | "bus">,
  link: WorkerLink,
): Promise<void> {
  const { worker_id, cut } = link;
  const grace_s = ctx.config.link_grace_ms / 1_000;
  const text = `the link to worker ${worker_id} was cut (${cut?.reason}); waiting for it for ${grace_s} s at most`;
  for (const { lease } of running(link))
    await tell(ctx, lease.job_id, "warn", "link", text, { worker_id });
}

/** The worker is back, and what it runs goes on. */
export async function tellBack(
  ctx: Pick<FleetContext, "clock" | "db" | "bus">,
  link: WorkerLink,
  cut_ms: number,
): Promise<void> {
  const { worker_id } = link;
  const text = `worker ${worker_id} is back on its link, and the job goes on`;
  for (const { lease } of running(link))
    await tell(ctx, lease.job_id, "info", "link", text, { worker_id, cut_ms });
}
