import type { PullWorkerRow, WorkloadRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import type { ExecutorState } from "#shared/protocol/schema/executor.ts";
import type { PipelineContext } from "../context.ts";
import { revisionOf } from "../pull/answer.ts";
import { isLive } from "../pull/is-live.ts";

const OK: ExecutorState = { state: "ok", error: null, trace: null, since: null, workers: [] };

type Seen = Pick<PipelineContext, "wall_jumps" | "pipeline">;

/** What the live workers among `workers` report about the workload's code, if they have tried its current settings. */
export function executorState(
  { wall_jumps, pipeline }: Seen,
  workload: WorkloadRow,
  workers: readonly PullWorkerRow[],
): ExecutorState {
  const told = workers
    .filter((worker) => worker.broken !== null && isLive(wall_jumps, worker))
    .flatMap(({ worker_id, host, broken }) =>
      (broken ?? [])
        .filter((one) => one.workload === workload.slug)
        .map((one) => ({ ...one, worker_id, host })),
    );
  if (told.length === 0) return OK;
  const revision = revisionOf(pipeline.plugins, workload);
  const current = told.filter((one) => one.revision === revision).sort((a, b) => a.since - b.since);
  const [first] = current;
  if (!first) return OK;
  return {
    state: "broken",
    error: first.error,
    trace: first.trace,
    since: isoTime(first.since),
    workers: current.map(({ worker_id, host, error }) => ({ id: worker_id, host, error })),
  };
}

/** The state of every workload, by slug. */
export async function executorStates(
  ctx: Seen & Pick<PipelineContext, "db">,
  workloads: readonly WorkloadRow[],
): Promise<Map<string, ExecutorState>> {
  const workers = await ctx.db.pull_workers.list();
  return new Map(workloads.map((row) => [row.slug, executorState(ctx, row, workers)]));
}

/** One sentence for people: `its code does not load on gpu-1 and gpu-2: ModuleNotFoundError: No module named 'x'`. */
export function brokenSentence({ error, workers }: ExecutorState): string {
  const names = workers.map(({ id }) => id);
  const last = names.pop();
  const where = names.length === 0 ? last : `${names.join(", ")} and ${last}`;
  return `its code does not load on ${where}: ${error}`;
}
