import type { SeenWorker } from "#hub/platform/rollout/decide.ts";
import { CHECK_AFTER, type FleetPart, type Rollout } from "#hub/platform/rollout/rollout.ts";
import { isTerminal } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerEntry } from "../links/parts.ts";
import { orderOf } from "../links/registry.ts";
import { isAlive, readFleet } from "../links/view.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import type { SessionOpenContext } from "../sessions/session-contexts.ts";
import { createSelfChecks } from "./self-check.ts";

/** Jobs of the canary that are looked at, and jobs of the others beside them. */
const JOBS = { own: 20, others: 50 };
/** This many failures in a row, while others complete their jobs, are blamed on the version. */
const FAILURES = 3;

/** Why the worker could not do a job; null when one of its lanes is warm or at work. */
function unwellOf({ lanes }: Pick<WorkerEntry, "lanes">): string | null {
  const bad = lanes.filter(({ state }) => state === "dead" || state === "quarantined");
  if (lanes.some(({ state }) => state === "warm" || state === "running")) return null;
  const [first] = bad;
  if (first)
    return `lane ${first.lane_idx} is ${first.state}: ${first.reason ?? "no reason given"}`;
  return lanes.length === 0 ? "it has no lanes" : "none of its lanes is ready";
}

/** Workers with browser lanes, linked to this hub or to another (rules/workers#lanes-of-a-worker). */
export function browserPart(
  ctx: SessionOpenContext & Pick<FleetContext, "session_calls">,
  rollout: Rollout,
): FleetPart {
  const checks = createSelfChecks(ctx);

  const see = async (): Promise<SeenWorker[]> => {
    const statuses = new Map(
      (await ctx.db.workers.list()).map(({ worker_id, status }) => [worker_id, status]),
    );
    return (await readFleet(ctx))
      .filter((entry) => isAlive(ctx, entry) && !entry.cut_at)
      .map((entry) => ({
        kind: "browser",
        worker_id: entry.worker_id,
        version: entry.version,
        active: (statuses.get(entry.worker_id) ?? "active") === "active",
        in_flight: entry.lanes.filter(({ state }) => state === "running").length,
        unwell: unwellOf(entry),
        report: entry.update ?? null,
        waits_for_order: entry.waits_for_order ?? false,
        since: entry.connected_at,
      }));
  };

  /** What its own jobs say: they count from when it came back. */
  const judgeJobs = async ({ worker_id, since }: SeenWorker) => {
    const own = (await ctx.db.jobs.list({ worker_id, limit: JOBS.own }, null)).filter(
      (job) => isTerminal(job.status) && (job.started_at ?? 0) >= since,
    );
    const completed = own.find(({ status }) => status === "completed");
    if (completed) return { ok: true, how: `job ${completed.job_id} completed` };
    const failed = own.filter(({ status }) => status === "failed");
    if (failed.length < FAILURES) return { failed: failed.length };
    const others = await ctx.db.jobs.list({ status: "completed", since, limit: JOBS.others }, null);
    if (!others.some((job) => job.worker_id !== worker_id)) return { failed: failed.length };
    const how = `its first ${failed.length} jobs failed, the last with "${failed[0]?.error ?? ""}", while other workers completed theirs`;
    return { ok: false, how };
  };

  return {
    kind: "browser",
    see,
    prove: async (turn, worker) => {
      const judged = await judgeJobs(worker);
      if ("ok" in judged) return judged as { ok: boolean; how: string };
      const link = ctx.links.get(worker.worker_id);
      if (!link?.open || link.version !== turn.target) return null;
      const idle_ms = ctx.clock.now() - worker.since;
      const due = idle_ms >= rollout.config.deadline_ms * CHECK_AFTER || judged.failed >= FAILURES;
      return checks.resultFor(link, due && link.held.size === 0);
    },
    tell: () => {
      for (const link of ctx.links.values()) tellOrder(ctx, link);
    },
  };
}

/** Tells a worker that its order has changed. */
function tellOrder(ctx: Pick<FleetContext, "rollout">, link: WorkerLink): void {
  const order = orderOf(ctx, link);
  const text = JSON.stringify(order);
  if (!link.open || !link.waits_for_order || link.told_order === text) return;
  link.told_order = text;
  link.send({ type: "HubHeartbeatAck", ...order });
}
