import { beatHubOnce, otherHubs } from "#hub/platform/cluster/hubs.ts";
import type { HubMessage } from "#hub/platform/cluster/messages.ts";
import type { ClusterContext } from "#hub/platform/context.ts";
import { LINK_CLOSE } from "#shared/protocol/link/close.ts";
import { isTerminal } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { retryReleasesOnce } from "../links/lanes.ts";
import type { LinkEndContext } from "../links/link-contexts.ts";
import { keepWorker } from "../links/registration.ts";
import { dropLink } from "../links/registry.ts";
import { runAttached } from "./attach.ts";
import { isLeavingJobs, WANTED_MS } from "./elsewhere.ts";
import { stopEnded, stopEndedOnce } from "./ended-elsewhere.ts";
import type { JobAttachContext, JobReleaseContext } from "./job-contexts.ts";
import { endKeptSession } from "./job-sessions.ts";

type Told<T extends HubMessage["type"]> = Extract<HubMessage, { type: T }>;

/** What another hub says. Nothing relies on it (rules/cluster#nothing-is-decided-by-a-message). */
export async function hubMessage(
  ctx: JobAttachContext & Pick<FleetContext, "links">,
  message: HubMessage,
): Promise<void> {
  switch (message.type) {
    case "hello":
    case "bye":
      return;
    case "wake":
      // A hub that pulls looks at every queued job.
      if (!ctx.config.queue.pull_on_free)
        for (const job_id of message.jobs)
          ctx.cluster.wanted.set(job_id, ctx.clock.monotonic() + WANTED_MS);
      return ctx.dispatcher.kick();
    case "attach":
      return message.to === ctx.hub_id ? attachHere(ctx, message.job_id) : undefined;
    case "job_taken":
      return answerWaiter(ctx, message.job_id);
    case "job_ended":
      return jobEnded(ctx, message);
    case "job_removed":
      return endKeptSession(ctx, message);
    case "link_taken":
      return message.to === ctx.hub_id ? linkTaken(ctx, message) : undefined;
    case "link_dropped":
      return ctx.cluster.dropping.get(message.worker_id)?.();
    case "worker_status": {
      const link = ctx.links.get(message.worker_id);
      if (link) link.status = message.status;
      return ctx.dispatcher.kick();
    }
    case "candidate":
      // That hub may no longer be the better one for a job that was left to it.
      if (isLeavingJobs(ctx)) ctx.dispatcher.kick();
      return;
    default:
      message satisfies never;
  }
}

async function attachHere(ctx: JobAttachContext, job_id: string): Promise<void> {
  const row = await ctx.db.jobs.get(job_id);
  if (row?.status === "queued") await ctx.dispatcher.exclusive(() => runAttached(ctx, row));
}

/** The row says what has become of the job; a message may be late. */
async function answerWaiter(
  ctx: Pick<FleetContext, "waiters" | "db">,
  job_id: string,
): Promise<void> {
  if (!ctx.waiters.has(job_id)) return;
  const row = await ctx.db.jobs.get(job_id);
  if (row && (row.status === "running" || isTerminal(row.status))) ctx.waiters.get(job_id)?.(row);
}

async function jobEnded(
  ctx: JobReleaseContext & Pick<FleetContext, "bus" | "cluster" | "links" | "waiters">,
  message: Told<"job_ended">,
): Promise<void> {
  const { job_id, worker_id, lease_token, status } = message;
  ctx.cluster.wanted.delete(job_id);
  const link = worker_id === null ? undefined : ctx.links.get(worker_id);
  const held = lease_token === null ? undefined : link?.heldBy(job_id, lease_token);
  if (link && held) await stopEnded(ctx, link, held, status);
  await answerWaiter(ctx, job_id);
}

/** The worker has moved to another hub: its old link here ends, whatever its socket says. */
async function linkTaken(
  ctx: LinkEndContext & Pick<FleetContext, "cluster">,
  message: Told<"link_taken">,
): Promise<void> {
  const { worker_id, instance_id } = message;
  const link = ctx.links.get(worker_id);
  if (link?.instance_id === instance_id)
    await dropLink(ctx, link, LINK_CLOSE.replaced, "linked to another hub", "moved");
  ctx.cluster.tell({ type: "link_dropped", worker_id });
}

/** Reads which other hubs the shared store knows. */
export async function lookForHubsOnce(ctx: ClusterContext): Promise<void> {
  if (!ctx.cluster.shared) return;
  ctx.cluster.found((await otherHubs(ctx)).map(({ hub_id }) => hub_id));
}

/** The shared store is back after it was away: it may have forgotten everything, and messages were lost. */
export async function afterGapOnce(
  ctx: ClusterContext &
    JobReleaseContext &
    Pick<FleetContext, "bus" | "dispatcher" | "hooks" | "leases" | "links">,
): Promise<void> {
  const steps = [
    () => beatHubOnce(ctx),
    () => lookForHubsOnce(ctx),
    () => retryReleasesOnce(ctx),
    () => keepWorkers(ctx),
    () => stopEndedOnce(ctx),
  ];
  for (const step of steps)
    await step().catch((err) => ctx.log.error({ err }, "could not catch up with the other hubs"));
  ctx.bus.wakeAll();
  ctx.dispatcher.kick();
}

async function keepWorkers(ctx: LinkEndContext): Promise<void> {
  for (const link of ctx.links.values()) {
    if (!link.ready || link.closed) continue;
    if (!(await keepWorker(ctx, link)))
      void dropLink(ctx, link, LINK_CLOSE.replaced, "linked to another hub", "moved");
  }
}
