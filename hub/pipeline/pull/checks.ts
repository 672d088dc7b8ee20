import type { PullWorkerRow, WorkloadRow } from "#hub/platform/db/rows.ts";
import { AppError, conflict, notFound } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { CheckAnswer, ExecutorCheck } from "#shared/protocol/schema/executor.ts";
import type { PipelineContext } from "../context.ts";
import { isLive } from "./is-live.ts";
import { mayRun } from "./may-run.ts";
import { type Asked, answeredKey, askedKey, CHECK_TTL_MS } from "./waiting-checks.ts";

/** How often to look while a check waits for its worker: another control process may receive the answer. */
const LOOK_EVERY_MS = 100;

/** @throws AppError not_found, conflict when no live worker may run the workload */
async function chooseWorker(
  ctx: Pick<PipelineContext, "db" | "clock">,
  workload: WorkloadRow,
  worker_id: string | undefined,
): Promise<PullWorkerRow> {
  const rows = await ctx.db.pull_workers.list();
  const named = worker_id === undefined ? rows : rows.filter((w) => w.worker_id === worker_id);
  if (named.length === 0 && worker_id !== undefined) throw notFound("worker");
  const able = named.filter((w) => isLive(ctx.clock, w) && mayRun(w, workload));
  // The one with the most free slots.
  const [best] = able.sort((a, b) => b.slots - b.in_flight - (a.slots - a.in_flight));
  if (best) return best;
  throw conflict(
    worker_id === undefined
      ? `no live worker may run ${workload.slug}: start one, or change the workload's host_affinity or a worker's filter`
      : `${worker_id} is offline, or its filter or the workload's host_affinity keeps it from running ${workload.slug}`,
  );
}

/**
 * POST /workloads/{slug}/check: has a worker load the workload's code and answers what it found. The worker learns
 * of it with its next heartbeat.
 * @throws AppError not_found; conflict when no live worker may run it; timed_out when the worker does not answer
 */
export async function checkExecutor(
  ctx: Pick<PipelineContext, "clock" | "kv" | "pipeline" | "db">,
  slug: string,
  { worker_id, timeout_s }: { worker_id?: string | undefined; timeout_s: number },
  gone: AbortSignal,
): Promise<ExecutorCheck> {
  const { clock, kv, pipeline } = ctx;
  const workload = await ctx.pipeline.workloads.require(slug);
  const worker = await chooseWorker(ctx, workload, worker_id);
  const { incarnation, worker_id: id, host } = worker;
  const asked: Asked = { check_id: newToken().slice(0, 16), slug, incarnation };
  const over = AbortSignal.any([gone, pipeline.stopping]);
  const until = clock.monotonic() + timeout_s * 1_000;
  let waiting = false;
  try {
    while (!over.aborted && clock.monotonic() < until) {
      waiting ||= await kv.setIfAbsent(askedKey(id), asked, CHECK_TTL_MS);
      const answer = waiting ? await kv.get<CheckAnswer>(answeredKey(asked.check_id)) : null;
      if (answer) {
        const { state, error, trace, revision, ms } = answer;
        return { workload: slug, revision, state, error, trace, ms, worker_id: id, host };
      }
      await clock.sleep(Math.min(LOOK_EVERY_MS, until - clock.monotonic()), over);
    }
  } finally {
    if (waiting) await kv.deleteIf(askedKey(id), { check_id: asked.check_id });
  }
  throw new AppError("timed_out", `${id} did not answer the check within ${timeout_s} s`);
}

/**
 * As `checkExecutor`, for a workload that was just created: the reason why it cannot be checked is returned, not
 * thrown.
 */
export const tryExecutor = (
  ctx: Pick<PipelineContext, "clock" | "kv" | "pipeline" | "db">,
  slug: string,
  timeout_s: number,
  gone: AbortSignal,
): Promise<ExecutorCheck> =>
  checkExecutor(ctx, slug, { timeout_s }, gone).catch((err): ExecutorCheck => {
    if (!(err instanceof AppError)) throw err;
    return {
      workload: slug,
      revision: null,
      state: "unchecked",
      error: err.message,
      trace: null,
      worker_id: null,
      host: null,
      ms: null,
    };
  });
