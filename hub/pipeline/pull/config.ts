import type { PullWorkerRow } from "#hub/platform/db/rows.ts";
import { PULL_HEARTBEAT_MS } from "#shared/protocol/schema/pull.ts";
import type { WorkerConfig } from "#shared/protocol/schema/pull-daemon.ts";
import type { PipelineContext } from "../context.ts";
import { settingsOf } from "./answer.ts";
import { commandsFor } from "./commands.ts";
import { mayRun } from "./may-run.ts";

/** How often to look while a poll waits: this process may have missed what another control process changed. */
const LOOK_EVERY_MS = 1_000;

async function configOf(
  ctx: Pick<PipelineContext, "pipeline" | "kv">,
  worker: PullWorkerRow,
): Promise<WorkerConfig> {
  const workloads = ctx.pipeline.workloads
    .all()
    .filter((workload) => workload.enabled && mayRun(worker, workload))
    .map((workload) => settingsOf(ctx.pipeline.plugins, workload));
  const { filter, draining, worker_id, incarnation } = worker;
  const commands = await commandsFor(ctx, worker_id, incarnation);
  const parts = [
    draining,
    filter,
    commands,
    workloads.map(({ slug, revision }) => [slug, revision]),
  ];
  return {
    revision: Bun.hash(JSON.stringify(parts)).toString(36),
    heartbeat_ms: PULL_HEARTBEAT_MS,
    drain: draining,
    filter,
    workloads,
    commands,
  };
}

/**
 * POST /workers/{id}/config: what the worker should do, as soon as that differs from what it knows, or after `wait_ms`.
 */
export async function pollConfig(
  ctx: Pick<PipelineContext, "clock" | "pipeline" | "db" | "kv">,
  worker: PullWorkerRow,
  { revision, wait_ms }: { revision: string; wait_ms: number },
  gone: AbortSignal,
): Promise<WorkerConfig> {
  const { clock, pipeline } = ctx;
  const until = clock.monotonic() + wait_ms;
  const over = AbortSignal.any([gone, pipeline.stopping]);
  for (;;) {
    const row = (await ctx.db.pull_workers.get(worker.worker_id)) ?? worker;
    const config = await configOf(ctx, row);
    const left = until - clock.monotonic();
    if (config.revision !== revision || left <= 0 || over.aborted) return config;
    await nudgeOrSleep(ctx, Math.min(left, LOOK_EVERY_MS), over);
  }
}

async function nudgeOrSleep(
  { clock, pipeline }: Pick<PipelineContext, "clock" | "pipeline">,
  ms: number,
  over: AbortSignal,
): Promise<void> {
  const nudged = new AbortController();
  const stop = pipeline.ready.onWork((workload_id) => {
    if (workload_id === null) nudged.abort();
    return false;
  });
  try {
    await clock.sleep(ms, AbortSignal.any([nudged.signal, over]));
  } finally {
    stop();
  }
}
