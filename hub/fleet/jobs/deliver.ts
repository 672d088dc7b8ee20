import type { JobRow } from "#hub/platform/db/rows.ts";
import type { FleetContext } from "../context.ts";
import type { JobLane, WorkerLink } from "../links/worker-link.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { viewerPath } from "../sessions/registry.ts";
import { announceTaken } from "./elsewhere.ts";
import { sendJob } from "./offer.ts";

/** What offers a job to a worker, and tells what came of it. */
type DeliveryContext = Pick<
  FleetContext,
  | "bus"
  | "clock"
  | "cluster"
  | "config"
  | "db"
  | "log"
  | "meters"
  | "settings_cache"
  | "signal"
  | "tracer"
  | "waiters"
>;

/**
 * Makes a queued job that of a leased lane; the single conditional claim decides against other hubs
 * (rules/jobs#two-hubs-and-one-job).
 * @returns null when it is queued no longer.
 */
export const claimFor = (
  ctx: Pick<FleetContext, "db" | "hub_id" | "clock">,
  job_id: string,
  { lease }: JobLane,
): Promise<JobRow | null> =>
  ctx.db.jobs.claim({
    job_id,
    worker_id: lease.worker_id,
    lane_idx: lease.lane_idx,
    session_id: lease.session_id,
    novnc_url: viewerPath(lease.session_id),
    lease_token: lease.token,
    hub_id: ctx.hub_id,
    now: ctx.clock.now(),
  });

/** A claimed job on its way to its lane. */
export interface Delivery {
  link: WorkerLink;
  held: JobLane;
  row: JobRow;
  /** The session that it is attached to; null for a lane of its own. */
  in_session: HubSession | null;
  /** Called at once when the worker takes the job, so that its next message finds what this creates. */
  accepted(): Promise<unknown>;
  /** Called when it does not, with the reason. */
  refused(reason: string): Promise<void>;
  /** Called at the end in any case. */
  settle(): void;
}

/** Offers the job to its worker and sees to what follows, in the background. */
export function deliver(ctx: DeliveryContext, delivery: Delivery): void {
  const { job_id } = delivery.row;
  const run = async () => {
    const reason = await offer(ctx, delivery);
    if (reason !== null) await delivery.refused(reason);
  };
  void run()
    .catch((err) => ctx.log.error({ job_id, err }, "delivery failed"))
    .finally(delivery.settle);
}

/** Why the worker did not take it; null when it did. */
async function offer(
  ctx: DeliveryContext,
  { link, held, row, in_session, accepted }: Delivery,
): Promise<string | null> {
  const { job_id, worker_id, lane_idx } = row;
  const began = ctx.clock.monotonic();
  try {
    const answer = await sendJob(ctx, link, held, row, in_session, accepted);
    if (answer.kind === "refused") return answer.reason;
    if (answer.kind === "closed") return "the link closed";
    ctx.meters.assign.observe((ctx.clock.monotonic() - began) / 1_000);
    ctx.meters.queue_wait.observe(Math.max(0, ctx.clock.now() - row.created_at) / 1_000);
    ctx.log.info({ job_id, worker_id, lane_idx }, in_session ? "job attached" : "job assigned");
    announceTaken(ctx, row);
    ctx.signal("job assigned", { job_id, worker_id, lane_idx });
    return null;
  } catch (err) {
    ctx.log.error({ job_id, err }, "delivery failed");
    return "the hub could not send it";
  }
}
