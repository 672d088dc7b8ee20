import type { QueueCounts } from "#hub/platform/db/queue/queue-store.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { byKey } from "#hub/platform/metrics/metrics.ts";
import { createBoundedLabel, MOST_WORKLOADS } from "#shared/kit/bounded-label.ts";
import type { PipelineContext } from "../context.ts";
import { isLive } from "../pull/is-live.ts";
import { executorState } from "../workloads/executor-state.ts";

const STATES = ["ready", "delayed", "claimed", "failed"] as const;

/** What the pipeline tells to `/metrics` (rules/metrics#of-the-pipeline). */
export function addPipelineMetrics(
  ctx: Pick<PipelineContext, "metrics" | "pipeline" | "db" | "wall_jumps">,
): void {
  addTallies(ctx);
  addQueues(ctx);
  addPullWorkers(ctx);
}

function addTallies({
  metrics,
  pipeline: { tallies },
}: Pick<PipelineContext, "metrics" | "pipeline">): void {
  const { tally, tallyBy } = metrics;
  tally("flotilla_tasks_submitted_total", "Tasks submitted here", () => tallies.submitted);
  tally(
    "flotilla_tasks_duplicate_total",
    "Submitted tasks whose key was in the queue already",
    () => tallies.duplicates,
  );
  tally("flotilla_tasks_claimed_total", "Tasks given to workers here", () => tallies.claimed);
  tallyBy(
    "flotilla_claims_total",
    "Claims of workers, by whether they found tasks",
    ["result"],
    () => byKey("result", tallies.claims),
  );
  tallyBy(
    "flotilla_task_reports_total",
    "Reports of workers that were taken, by their kind; one that is repeated counts again",
    ["report"],
    () => byKey("report", tallies.ended),
  );
  tally(
    "flotilla_task_reports_stale_total",
    "Reports of attempts that were over already",
    () => tallies.stale,
  );
  tally(
    "flotilla_task_leases_lost_total",
    "Attempts that a worker wanted to keep although they were over",
    () => tallies.leases_lost,
  );
  tally(
    "flotilla_task_leases_expired_total",
    "Attempts that this process ended because their lease or deadline was over",
    () => tallies.leases_expired,
  );
}

/** From the counters and a bounded number of index probes per workload, however much the queues hold. */
function addQueues({
  metrics,
  pipeline,
  db,
}: Pick<PipelineContext, "metrics" | "pipeline" | "db">): void {
  const tasks = metrics.gauge("flotilla_tasks", "Tasks in the queues, by workload and state", [
    "workload",
    "state",
  ]);
  const oldest = metrics.gauge(
    "flotilla_task_oldest_ready_seconds",
    "Age of the oldest task that could run now; 0 where there is none, or the workload is switched off",
    ["workload"],
  );
  const nameOf = createBoundedLabel(MOST_WORKLOADS);
  metrics.reading("tasks", [tasks, oldest], async () => {
    const { store, workloads } = pipeline;
    const [now, counts, ready] = await Promise.all([
      store.now(),
      store.counts(),
      db.views.oldestReady(),
    ]);
    tasks.reset();
    oldest.reset();
    const countsOf = new Map<number, QueueCounts>(counts.map((row) => [row.workload_id, row]));
    const since = new Map(ready.map((row) => [row.workload_id, row.created_at]));
    const ages = new Map<string, number>();
    for (const { workload_id, slug, enabled } of inOrder(workloads.all())) {
      const workload = nameOf(slug);
      const row = countsOf.get(workload_id);
      for (const state of STATES) tasks.inc({ workload, state }, Math.max(0, row?.[state] ?? 0));
      const oldest_at = enabled ? since.get(workload_id) : undefined;
      const age = Math.max(0, now - (oldest_at ?? now)) / 1_000;
      ages.set(workload, Math.max(age, ages.get(workload) ?? 0));
    }
    for (const [workload, age] of ages) oldest.set({ workload }, age);
  });
}

function addPullWorkers(
  ctx: Pick<PipelineContext, "metrics" | "pipeline" | "db" | "wall_jumps">,
): void {
  const { metrics, pipeline, db, wall_jumps } = ctx;
  const workers = metrics.gauge("flotilla_pull_workers", "Workers that run tasks, by state", [
    "state",
  ]);
  const broken = metrics.gauge(
    "flotilla_executors_broken",
    "Workers on which the code of a workload does not load",
    ["workload"],
  );
  const nameOf = createBoundedLabel(MOST_WORKLOADS);
  metrics.reading("pull workers", [workers, broken], async () => {
    const rows = await db.pull_workers.list();
    const state = { live: 0, draining: 0, offline: 0 };
    for (const row of rows) {
      if (!isLive(wall_jumps, row)) state.offline += 1;
      else state[row.draining ? "draining" : "live"] += 1;
    }
    for (const [name, n] of Object.entries(state)) workers.set({ state: name }, n);
    broken.reset();
    for (const workload of inOrder(pipeline.workloads.all())) {
      const { length } = executorState(ctx, workload, rows).workers;
      if (length > 0) broken.inc({ workload: nameOf(workload.slug) }, length);
    }
  });
}

/** The oldest keep series of their own, whichever come and go. */
const inOrder = (all: Iterable<WorkloadRow>): WorkloadRow[] =>
  [...all].sort((a, b) => a.workload_id - b.workload_id);
