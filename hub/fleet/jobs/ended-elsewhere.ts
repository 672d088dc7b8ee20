import type { JobStatus } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import type { JobLane, WorkerLink } from "../links/worker-link.ts";
import type { JobReleaseContext } from "./job-contexts.ts";
import { releaseJobSession } from "./job-sessions.ts";

/** Job ids in one read. */
const BATCH = 500;

/** Another hub has ended the job (cancelled, deleted, failed it): its lane stops, and its session ends with it. */
export async function stopEnded(
  ctx: JobReleaseContext & Pick<FleetContext, "bus">,
  link: WorkerLink,
  held: JobLane,
  status: JobStatus,
): Promise<void> {
  if (held.done) return;
  held.done = true;
  const { job_id, token: lease_token, session_id } = held.lease;
  link.send({ type: "HubCancelJob", job_id, lease_token, reason: status });
  ctx.log.info({ job_id, worker_id: link.worker_id, status }, "another hub ended the job");
  // Also wakes streams that missed its message.
  ctx.bus.publish(job_id);
  await releaseJobSession(ctx, { job_id, session_id, status }, false);
}

/** Stops lanes of this hub whose job has ended or has another lease: the message of the hub that ended it was lost. */
export async function stopEndedOnce(
  ctx: JobReleaseContext & Pick<FleetContext, "bus" | "dispatcher" | "links">,
): Promise<void> {
  const lanes: { link: WorkerLink; held: JobLane }[] = [];
  for (const link of ctx.links.values())
    for (const held of link.jobLanes()) if (held.accepted && !held.done) lanes.push({ link, held });
  for (let at = 0; at < lanes.length; at += BATCH) {
    const batch = lanes.slice(at, at + BATCH);
    const ids = batch.map(({ held }) => held.lease.job_id);
    // Not while a pass assigns lanes, because a lane is held before its job's row shows it.
    const rows = await ctx.dispatcher.exclusive(() => ctx.db.jobs.runningAmong(ids));
    const running = new Map(rows.map((row) => [row.job_id, row.lease_token]));
    for (const { link, held } of batch)
      if (running.get(held.lease.job_id) !== held.lease.token && !link.closed)
        await stopEnded(ctx, link, held, await statusOf(ctx, held.lease.job_id));
  }
}

const statusOf = async (ctx: Pick<FleetContext, "db">, job_id: string): Promise<JobStatus> =>
  (await ctx.db.jobs.get(job_id))?.status ?? "cancelled";
