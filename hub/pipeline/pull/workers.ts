import type { z } from "zod";
import type { AttemptRef } from "#hub/platform/db/queue/queue-store.ts";
import type { PullWorkerRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { AppError, conflict, errorMessage, notFound } from "#shared/kit/errors.ts";
import type { BrokenExecutor } from "#shared/protocol/schema/executor.ts";
import {
  type ChangeFilter,
  PULL_DEAD_MS,
  PULL_FEATURES,
  PULL_HEARTBEAT_MS,
  PULL_OFFLINE_MS,
  type PullHeartbeat,
  type PullHeartbeatAnswer,
  type PullWorker,
  type RegisteredPull,
  type RegisterPull,
} from "#shared/protocol/schema/pull.ts";
import type { PipelineContext } from "../context.ts";
import { recordCpu, recordGpus } from "../flow/load.ts";
import { limitsOf } from "../queue/limits-of.ts";
import { commandsFor } from "./commands.ts";
import { hearUpdate } from "./hear-update.ts";
import { isLive } from "./is-live.ts";
import { mayRun } from "./may-run.ts";
import { checksFor } from "./waiting-checks.ts";

/** The worker must register (again): its process is not the one that this control plane knows. */
const unregistered = () =>
  new AppError("conflict", "this incarnation is not registered; register and try again");

function duplicate(
  { log }: Pick<PipelineContext, "log">,
  worker_id: string,
  host = "another host",
): AppError {
  log.warn({ worker_id, host }, "refused a duplicate pull worker");
  return conflict(
    `duplicate worker_id: a live worker on ${host} is ${worker_id}; set SVC_WORKER_ID (--worker-id) to another name on one of them`,
  );
}

/** Whether a name may be taken from a process that has gone silent: on its own host sooner. */
const isDead = (
  { wall_jumps }: Pick<PipelineContext, "wall_jumps">,
  { host, last_heartbeat_at }: PullWorkerRow,
  newcomers_host: string,
): boolean =>
  wall_jumps.ageOf(last_heartbeat_at) > (host === newcomers_host ? PULL_DEAD_MS : PULL_OFFLINE_MS);

/** Takes the name from a process that has gone silent. @throws AppError conflict while it lives */
async function takeName(
  ctx: Pick<PipelineContext, "db" | "log" | "wall_jumps">,
  next: PullWorkerRow,
  replaces: string | null,
): Promise<PullWorkerRow> {
  const { pull_workers } = ctx.db;
  const there = await pull_workers.get(next.worker_id);
  const dead = there && isDead(ctx, there, next.host) ? there : null;
  const row = dead && (await pull_workers.register(next, { replaces, dead }));
  if (!row) throw duplicate(ctx, next.worker_id, there?.host);
  return row;
}

/**
 * Registers a worker. A name that another live process has is refused: the two would take it from each other forever,
 * and each other's tasks with it. A successor that names a dead process takes over immediately, any other within
 * seconds.
 * @throws AppError conflict
 */
export async function registerPuller(
  ctx: Pick<PipelineContext, "clock" | "db" | "pipeline" | "log" | "version" | "wall_jumps">,
  worker_id: string,
  hello: RegisterPull,
): Promise<z.infer<typeof RegisteredPull>> {
  const now = ctx.clock.now();
  const next = {
    worker_id,
    incarnation: hello.incarnation,
    host: hello.host,
    version: hello.version,
    slots: hello.slots,
    labels: hello.labels,
    filter: hello.workloads.length > 0 ? hello.workloads : null,
    draining: false,
    in_flight: 0,
    cpu_percent: null,
    host_cpu_percent: null,
    mem_percent: null,
    gpus: [],
    broken: null,
    started_at: hello.started_at ? Date.parse(hello.started_at) : now,
    last_heartbeat_at: now,
  };
  const replaces = hello.replaces ?? null;
  const row =
    (await ctx.db.pull_workers.register(next, { replaces, dead: null })) ??
    (await takeName(ctx, next, replaces));
  ctx.pipeline.pullers.set(worker_id, row);
  ctx.pipeline.tell.worker(worker_id);
  ctx.log.info({ worker_id, host: row.host, slots: row.slots }, "pull worker registered");
  return {
    worker_id,
    heartbeat_ms: PULL_HEARTBEAT_MS,
    version: ctx.version,
    accepts: [...PULL_FEATURES],
  };
}

/** The registered process behind a call. @throws AppError conflict when it is not (any more). */
export async function requirePuller(
  ctx: Pick<PipelineContext, "pipeline" | "db">,
  worker_id: string,
  incarnation: string,
): Promise<PullWorkerRow> {
  const known = ctx.pipeline.pullers.get(worker_id);
  if (known?.incarnation === incarnation) return known;
  // Registered with another control process, or with this one before its restart.
  const row = await ctx.db.pull_workers.get(worker_id);
  if (row?.incarnation !== incarnation) throw unregistered();
  ctx.pipeline.pullers.set(worker_id, row);
  return row;
}

/** Renews the leases of everything in flight, each by its workload's lease; returns what is lost. */
export async function beatPuller(
  ctx: Pick<
    PipelineContext,
    "changes" | "clock" | "db" | "kv" | "log" | "pipeline" | "rollout" | "version"
  >,
  worker_id: string,
  beat: PullHeartbeat,
): Promise<z.infer<typeof PullHeartbeatAnswer>> {
  const { incarnation, in_flight, cpu_percent, host_cpu_percent, mem_percent, gpus } = beat;
  const broken = brokenSince(ctx, worker_id, beat.broken);
  await hearUpdate(ctx, worker_id, beat.update);
  const groups = new Map<string, AttemptRef[]>();
  for (const { workload, task_id, epoch } of in_flight) {
    const group = groups.get(workload) ?? [];
    group.push({ task_id, epoch });
    groups.set(workload, group);
  }
  const renewals = [...groups].map(async ([slug, items]) => {
    // Another control process may have just created it and claimed from it.
    const workload = await ctx.pipeline.workloads.find(slug);
    if (!workload) return items;
    const { lease_ms } = limitsOf(workload);
    return ctx.pipeline.turns.call({ op: "renew", worker: incarnation, items, lease_ms });
  });
  const [commands, checks, row, ...lost] = await Promise.all([
    commandsFor(ctx, worker_id, incarnation),
    checksFor(ctx, worker_id, incarnation),
    ctx.db.pull_workers.beat(worker_id, incarnation, {
      cpu_percent,
      host_cpu_percent,
      mem_percent,
      gpus,
      broken,
      in_flight: in_flight.length,
      last_heartbeat_at: ctx.clock.now(),
    }),
    ...renewals,
  ]);
  if (!row) {
    ctx.pipeline.pullers.delete(worker_id);
    throw unregistered();
  }
  ctx.pipeline.pullers.set(worker_id, row);
  if (host_cpu_percent !== null)
    await recordCpu(ctx, row.host, host_cpu_percent).catch((err) =>
      ctx.log.warn({ worker_id, err: errorMessage(err) }, "could not store the CPU reading"),
    );
  if (gpus.length > 0)
    await recordGpus(ctx, row.host, gpus).catch((err) =>
      ctx.log.warn({ worker_id, err: errorMessage(err) }, "could not store GPU readings"),
    );
  const order =
    beat.update && ctx.rollout.orderFor({ kind: "pull", worker_id, version: row.version });
  return {
    lost: lost.flat(),
    drain: row.draining,
    version: ctx.version,
    commands,
    checks,
    ...(order && { update: order }),
  };
}

/** What the worker reports, with the time of the first report; pages that show workloads are notified of a change. */
function brokenSince(
  {
    clock,
    pipeline,
    changes,
    log,
  }: Pick<PipelineContext, "clock" | "pipeline" | "changes" | "log">,
  worker_id: string,
  told: readonly BrokenExecutor[],
): PullWorkerRow["broken"] {
  const before = pipeline.pullers.get(worker_id)?.broken ?? [];
  if (told.length === 0 && before.length === 0) return null;
  const now = clock.now();
  const broken = told.map(({ broken_ms, ...one }) => {
    const known = before.find((b) => b.workload === one.workload && b.revision === one.revision);
    if (!known)
      log.warn(
        { worker_id, workload: one.workload, err: one.error },
        "a worker cannot load the code of a workload",
      );
    return { ...one, since: known?.since ?? now - broken_ms };
  });
  const isSame =
    broken.length === before.length &&
    broken.every((one) =>
      before.some((b) => b.workload === one.workload && b.revision === one.revision),
    );
  if (!isSame) changes.touch("v1/workloads");
  return broken.length === 0 ? null : broken;
}

/** No new tasks from now on; running ones may finish. @throws AppError conflict */
export async function drainPuller(
  ctx: Pick<PipelineContext, "db" | "pipeline">,
  worker_id: string,
  incarnation: string,
): Promise<void> {
  const row = await ctx.db.pull_workers.beat(worker_id, incarnation, { draining: true });
  if (!row) throw unregistered();
  ctx.pipeline.pullers.set(worker_id, row);
  ctx.pipeline.ready.nudge();
  ctx.pipeline.tell.worker(worker_id);
}

/** Its process ends now and holds nothing, so the next one with its name need not wait. @throws AppError conflict */
export async function leavePuller(
  ctx: Pick<PipelineContext, "db" | "pipeline" | "log">,
  worker_id: string,
  incarnation: string,
): Promise<void> {
  if (!(await ctx.db.pull_workers.leave(worker_id, incarnation))) throw unregistered();
  ctx.pipeline.pullers.delete(worker_id);
  ctx.pipeline.tell.worker(worker_id);
  ctx.log.info({ worker_id }, "pull worker left");
}

function pullerRecord(
  ctx: Pick<PipelineContext, "wall_jumps" | "pipeline" | "rollout">,
  row: PullWorkerRow,
): PullWorker {
  const { worker_id, incarnation: _incarnation, draining, broken, ...rest } = row;
  return {
    ...rest,
    id: worker_id,
    state: isLive(ctx.wall_jumps, row) ? (draining ? "draining" : "active") : "offline",
    workloads: ctx.pipeline.workloads
      .all()
      .filter((workload) => workload.enabled && mayRun(row, workload))
      .map(({ slug }) => slug),
    broken: (broken ?? [])
      .filter(({ workload }) => ctx.pipeline.workloads.bySlug(workload))
      .map(({ workload, error, since }) => ({ workload, error, since: isoTime(since) })),
    update: ctx.rollout.updateOf({ kind: "pull", worker_id }),
    started_at: isoTime(row.started_at),
    last_heartbeat_at: isoTime(row.last_heartbeat_at),
  };
}

/** GET /workers (rules/pipeline-pull#list-pull-workers). */
export const listPullers = async (
  ctx: Pick<PipelineContext, "db" | "wall_jumps" | "pipeline" | "rollout">,
): Promise<PullWorker[]> => (await ctx.db.pull_workers.list()).map((row) => pullerRecord(ctx, row));

/** POST /workers/{id}/filter. An empty `replace` means every workload. @throws AppError not_found */
export async function changeFilter(
  ctx: Pick<PipelineContext, "db" | "pipeline" | "wall_jumps" | "rollout">,
  worker_id: string,
  { op, workloads }: ChangeFilter,
): Promise<PullWorker> {
  const row = await ctx.db.pull_workers.get(worker_id);
  if (!row) throw notFound("worker");
  const before = row.filter ?? ctx.pipeline.workloads.all().map(({ slug }) => slug);
  const next = {
    replace: () => (workloads.length === 0 ? null : workloads),
    add: () => (row.filter === null ? null : [...new Set([...row.filter, ...workloads])]),
    remove: () => before.filter((slug) => !workloads.includes(slug)),
  }[op]();
  const changed = await ctx.db.pull_workers.setFilter(worker_id, next);
  if (!changed) throw notFound("worker");
  ctx.pipeline.pullers.set(worker_id, changed);
  ctx.pipeline.ready.nudge();
  ctx.pipeline.tell.worker(worker_id);
  return pullerRecord(ctx, changed);
}
