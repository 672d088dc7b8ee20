import type { PullWorkerRow } from "#hub/platform/db/rows.ts";
import { AppError, conflict, notFound } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { CheckAnswer, CheckTask, ExecutorCheck } from "#shared/protocol/schema/executor.ts";
import type { CheckDraft } from "#shared/protocol/schema/workload.ts";
import { DRAFT_SLUG, type Draft, readDraft } from "../code/draft.ts";
import type { PipelineContext } from "../context.ts";
import { isLive } from "./is-live.ts";
import { mayRun } from "./may-run.ts";
import { type Asked, answeredKey, askedKey, CHECK_TTL_MS } from "./waiting-checks.ts";

/** How often to look while a check waits for its worker: another control process may receive the answer. */
const LOOK_EVERY_MS = 100;

/** @throws AppError not_found, conflict when no live worker may run the workload */
async function chooseWorker(
  ctx: Pick<PipelineContext, "db" | "wall_jumps">,
  workload: { slug: string; host_affinity: readonly string[] },
  worker_id: string | undefined,
): Promise<PullWorkerRow> {
  const rows = await ctx.db.pull_workers.list();
  const named = worker_id === undefined ? rows : rows.filter((w) => w.worker_id === worker_id);
  if (named.length === 0 && worker_id !== undefined) throw notFound("worker");
  const able = named.filter((w) => isLive(ctx.wall_jumps, w) && mayRun(w, workload));
  // The one with the most free slots.
  const [best] = able.sort((a, b) => b.slots - b.in_flight - (a.slots - a.in_flight));
  if (best) return best;
  const live = rows.filter((w) => isLive(ctx.wall_jumps, w)).length;
  if (worker_id === undefined && live === 0)
    throw conflict("no pull worker is on: start one, and its code can be tried");
  throw conflict(
    worker_id === undefined
      ? `no live worker may run ${workload.slug}: start one, or change the workload's host_affinity or a worker's filter`
      : `${worker_id} is offline, or its filter or the workload's host_affinity keeps it from running ${workload.slug}`,
  );
}

interface HowToCheck {
  worker_id?: string | undefined;
  timeout_s: number;
  task?: CheckTask | undefined;
}

/** What a task of a test has of the whole time: the rest is the heartbeat that a worker hears of it with, and loading. */
const taskMs = (timeout_s: number) => Math.max(1_000, timeout_s * 1_000 - 10_000);

/**
 * POST /workloads/{slug}/check: has a worker load the workload's code and answers what it found. The worker learns
 * of it with its next heartbeat, which it is asked for where it waits for work at this control plane.
 * @throws AppError not_found; conflict when no live worker may run it; timed_out when the worker does not answer
 */
export async function checkExecutor(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "kv" | "pipeline" | "db">,
  slug: string,
  how: HowToCheck,
  gone: AbortSignal,
): Promise<ExecutorCheck> {
  const workload = await ctx.pipeline.workloads.require(slug);
  return askWorker(ctx, { workload, name: slug }, how, gone);
}

/** POST /workloads/check: the same with settings that nobody has saved. @throws as `checkExecutor`, invalid */
export async function checkDraft(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "kv" | "pipeline" | "db">,
  wanted: CheckDraft,
  gone: AbortSignal,
): Promise<ExecutorCheck> {
  const { slug = DRAFT_SLUG, host_affinity } = wanted;
  const draft = await readDraft(ctx, wanted);
  const name = wanted.slug ?? "";
  return askWorker(ctx, { workload: { slug, host_affinity }, name, draft }, wanted, gone);
}

/** Asks one worker and waits for its answer. */
async function askWorker(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "kv" | "pipeline" | "db">,
  about: {
    workload: { slug: string; host_affinity: readonly string[] };
    name: string;
    draft?: Draft;
  },
  { worker_id, timeout_s, task }: HowToCheck,
  gone: AbortSignal,
): Promise<ExecutorCheck> {
  const { clock, kv, pipeline } = ctx;
  const { workload, name, draft } = about;
  const worker = await chooseWorker(ctx, workload, worker_id);
  const { incarnation, worker_id: id, host } = worker;
  const asked: Asked = {
    check_id: newToken().slice(0, 16),
    slug: workload.slug,
    incarnation,
    timeout_ms: taskMs(timeout_s),
    ...(task ? { task } : {}),
    ...(draft ? { draft } : {}),
  };
  const over = AbortSignal.any([gone, pipeline.stopping]);
  const until = clock.monotonic() + timeout_s * 1_000;
  let waiting = false;
  try {
    while (!over.aborted && clock.monotonic() < until) {
      if (!waiting && (await kv.setIfAbsent(askedKey(id), asked, CHECK_TTL_MS))) {
        waiting = true;
        // A worker that waits for work here hears of it now; any other with its next heartbeat.
        pipeline.wanted.add(id);
        pipeline.ready.nudge();
      }
      const answer = waiting ? await kv.get<CheckAnswer>(answeredKey(asked.check_id)) : null;
      if (answer) return found(answer, { name, id, host, task });
      await clock.sleep(Math.min(LOOK_EVERY_MS, until - clock.monotonic()), over);
    }
  } finally {
    pipeline.wanted.delete(id);
    if (waiting) await kv.deleteIf(askedKey(id), { check_id: asked.check_id });
  }
  throw new AppError("timed_out", `${id} did not answer the check within ${timeout_s} s`);
}

function found(
  { state, error, trace, revision, ms, run }: CheckAnswer,
  of: { name: string; id: string; host: string; task: CheckTask | undefined },
): ExecutorCheck {
  // It took the check for one without a task.
  const unrun = of.task !== undefined && state === "ok" && run === undefined;
  const why = unrun ? `${of.id} is of an earlier version: it loads code, but runs no tests` : error;
  return {
    workload: of.name,
    revision,
    state,
    error: why,
    trace,
    worker_id: of.id,
    host: of.host,
    ms,
    run: run ?? null,
  };
}

/**
 * As `checkExecutor`, for a workload that was just created: the reason why it cannot be checked is returned, not
 * thrown.
 */
export const tryExecutor = (
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "kv" | "pipeline" | "db">,
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
