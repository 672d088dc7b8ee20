import type { QueueCounts } from "#hub/platform/db/queue/queue-store.ts";
import type { AgentRow, PullWorkerRow, SupervisedRow, WorkloadRow } from "#hub/platform/db/rows.ts";
import { isAlive } from "../agents/agents.ts";
import type { PipelineContext } from "../context.ts";
import { isLive } from "../pull/is-live.ts";
import { mayRun } from "../pull/may-run.ts";
import { resetFailed } from "../tasks/queue.ts";
import { brokenSentence, executorState } from "../workloads/executor-state.ts";
import { deadInstances, restartDead } from "./dead-instances.ts";
import { type Decision, decide, type Facts, STREAK } from "./decide.ts";

/** What a pass reads once for all workloads. */
interface Scene {
  counts: ReadonlyMap<number, QueueCounts>;
  /** Workers that report and take tasks. */
  workers: readonly PullWorkerRow[];
  /** By id, the silent ones too. */
  known: ReadonlyMap<string, PullWorkerRow>;
  agents: readonly AgentRow[];
}

/** For a workload without a row: there is nothing to retry, and every run counts. */
const unknown = (workload_id: number): SupervisedRow => ({
  workload_id,
  seq: 0,
  paused_at: null,
  last_run_id: 0,
  reset: true,
  problem: null,
  problem_at: null,
  told: false,
  action: null,
  reason: null,
  action_at: null,
});

/**
 * One pass of the supervisor (rules/pipeline-supervision#permission) over the workloads that permit it. What it decides
 * is written by one conditional statement; of several control processes, the one that wrote it acts.
 */
export async function superviseOnce(
  ctx: Pick<PipelineContext, "db" | "log" | "pipeline" | "clock" | "wall_jumps">,
): Promise<void> {
  const supervised = (await ctx.db.workloads.list()).filter((w) => w.supervisor_enabled);
  if (supervised.length === 0) return;
  const scene = await readScene(ctx);
  for (const workload of supervised)
    try {
      await superviseWorkload(ctx, workload, scene);
    } catch (err) {
      ctx.log.error({ err, workload: workload.slug }, "could not supervise a workload");
    }
}

async function readScene(
  ctx: Pick<PipelineContext, "pipeline" | "db" | "wall_jumps">,
): Promise<Scene> {
  const [counts, rows, agents] = await Promise.all([
    ctx.pipeline.store.counts(),
    ctx.db.pull_workers.list(),
    ctx.db.agents.list(),
  ]);
  return {
    counts: new Map(counts.map((c) => [c.workload_id, c])),
    workers: rows.filter((w) => !w.draining && isLive(ctx.wall_jumps, w)),
    known: new Map(rows.map((row) => [row.worker_id, row])),
    agents: agents.filter((agent) => isAlive(ctx, agent)),
  };
}

async function superviseWorkload(
  ctx: Pick<PipelineContext, "db" | "clock" | "wall_jumps" | "pipeline" | "log">,
  workload: WorkloadRow,
  scene: Scene,
): Promise<void> {
  const counts = scene.counts.get(workload.workload_id);
  // Never had a task.
  if (!counts) return;
  const { supervised } = ctx.db;
  const row = (await supervised.get(workload.workload_id)) ?? unknown(workload.workload_id);
  // The list may be older than a pause by another control process, which then still holds.
  const current = row.paused_at === null ? workload : await ctx.db.workloads.get(workload.slug);
  if (!current) return;
  const decision = decide(row, await factsOf(ctx, current, row, counts, scene));
  if (decision === null) return;
  if (row.seq === 0) await supervised.open(workload.workload_id);
  if (await write(ctx, row, decision)) await carryOut(ctx, workload, decision, scene);
}

async function factsOf(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "pipeline" | "db">,
  workload: WorkloadRow,
  row: SupervisedRow,
  { ready, claimed, failed }: QueueCounts,
  { workers, agents, known }: Scene,
): Promise<Facts> {
  const executor = executorState(ctx, workload, workers);
  const able = workers.filter((worker) => mayRun(worker, workload));
  return {
    ready,
    claimed,
    failed,
    enabled: workload.enabled,
    now: ctx.clock.now(),
    runs: workload.enabled
      ? await ctx.db.supervised.outcomes(workload.workload_id, row.last_run_id, STREAK)
      : [],
    workers: able.length,
    idle_slots: able.reduce((sum, w) => sum + Math.max(0, w.slots - w.in_flight), 0),
    limited:
      workload.rate_limit !== null ||
      (workload.max_in_flight !== null && claimed >= workload.max_in_flight),
    broken: executor.state === "broken" ? brokenSentence(executor) : null,
    dead_instances: agents.flatMap((agent) => deadInstances(agent, workload, known)).length,
  };
}

/** False when another control process was first or the workload is no longer supervised. */
const write = async (
  { db, clock }: Pick<PipelineContext, "db" | "clock">,
  row: SupervisedRow,
  { act, set }: Decision,
): Promise<boolean> =>
  act === "pause"
    ? db.supervised.pause(row, set, clock.now())
    : (await db.supervised.change(row, set)) !== null;

async function carryOut(
  ctx: Pick<PipelineContext, "log" | "db" | "pipeline">,
  { slug }: WorkloadRow,
  { act, reason }: Decision,
  { agents, known }: Scene,
): Promise<void> {
  if (act === null) return ctx.log.debug({ workload: slug, reason }, "supervisor took note");
  ctx.log.warn({ workload: slug, action: act, reason }, "supervisor intervened");
  const workload = await ctx.db.workloads.get(slug);
  if (!workload) return;
  if (act === "pause") {
    ctx.pipeline.workloads.set(slug, workload);
    ctx.pipeline.tell.workloads();
  }
  if (act === "reset") {
    const reset = await resetFailed(ctx, slug);
    ctx.log.info({ workload: slug, reset }, "supervisor reset failed tasks");
  }
  if (act === "restart") await restartDead(ctx, agents, workload, known);
}
