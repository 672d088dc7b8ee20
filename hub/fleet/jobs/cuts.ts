import type { FleetContext } from "../context.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import { tell } from "./events.ts";

/** Jobs that a worker runs beyond the cut of its link: what their logs say of it. */

const running = (link: WorkerLink) => link.jobLanes().filter((held) => held.accepted && !held.done);

/** The link has no socket, and its worker is waited for. */
export async function tellCut(ctx: FleetContext, link: WorkerLink): Promise<void> {
  const { worker_id, cut } = link;
  const grace_s = ctx.config.link_grace_ms / 1_000;
  const text = `the link to worker ${worker_id} was cut (${cut?.reason}); it is waited for, ${grace_s} s at most`;
  for (const { lease } of running(link))
    await tell(ctx, lease.job_id, "warn", "link", text, { worker_id });
}

/** The worker is back, and what it runs goes on. */
export async function tellBack(ctx: FleetContext, link: WorkerLink, cut_ms: number): Promise<void> {
  const { worker_id } = link;
  const text = `worker ${worker_id} is back on its link, and the job goes on`;
  for (const { lease } of running(link))
    await tell(ctx, lease.job_id, "info", "link", text, { worker_id, cut_ms });
}
