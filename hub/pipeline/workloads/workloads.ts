import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { AppError, conflict, invalid, notFound } from "#shared/kit/errors.ts";
import type { ExecutorState } from "#shared/protocol/schema/executor.ts";
import type { Workload, WorkloadCreate, WorkloadUpdate } from "#shared/protocol/schema/workload.ts";
import { afterSave } from "../code/after-save.ts";
import { type Saved, settleCode } from "../code/settle-code.ts";
import type { PipelineContext } from "../context.ts";
import { ownState } from "../plugins/workload-state.ts";
import { lookAgain } from "../queue/ready-hints.ts";
import { purgeWorkload } from "../queue/retention.ts";
import { nextTimes } from "../schedules/next-times.ts";
import { checkSchedule } from "../schedules/schedules.ts";
import { executorState } from "./executor-state.ts";
import { checkNames } from "./workload-checks.ts";

/** A row as the API shows it. */
const workloadRecord = (row: WorkloadRow, executor: ExecutorState, now: number): Workload => {
  const { workload_id: _id, code_version, code_sha256, created_at, updated_at, ...rest } = row;
  return {
    ...rest,
    executor_config:
      code_sha256 === null ? rest.executor_config : { ...rest.executor_config, code_version },
    executor,
    next_times: nextTimes(row, now),
    created_at: isoTime(created_at),
    updated_at: isoTime(updated_at),
  };
};

const recordOf = async (
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "pipeline" | "db">,
  row: WorkloadRow,
): Promise<Workload> =>
  workloadRecord(row, executorState(ctx, row, await ctx.db.pull_workers.list()), ctx.clock.now());

export async function listWorkloads(
  ctx: Pick<PipelineContext, "db" | "clock" | "wall_jumps" | "pipeline">,
): Promise<Workload[]> {
  const [rows, workers] = await Promise.all([ctx.db.workloads.list(), ctx.db.pull_workers.list()]);
  return rows.map((row) => workloadRecord(row, executorState(ctx, row, workers), ctx.clock.now()));
}

/** @throws AppError not_found */
export const getWorkload = async (
  ctx: Pick<PipelineContext, "db" | "clock" | "wall_jumps" | "pipeline">,
  slug: string,
): Promise<Workload> => recordOf(ctx, (await ctx.db.workloads.get(slug)) ?? missing());

const missing = (): never => {
  throw notFound("workload");
};

/**
 * @throws AppError conflict when the slug is taken (rules/pipeline-workloads#create-a-workload), invalid when its schedule
 *   has no tick or it names a plugin or a workload that is unknown (rules/pipeline-workloads#names-must-exist).
 */
export async function createWorkload(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "db" | "pipeline" | "log">,
  { version_note, ...input }: WorkloadCreate,
  by: string,
): Promise<Workload> {
  const now = ctx.clock.now();
  checkSchedule(input, now);
  const settled = await settleCode(ctx, input, null, { by, note: version_note });
  const { executor_config, code } = settled;
  const settings = { ...input, executor_config };
  await checkNames(ctx, input.slug, settings);
  const row = await ctx.db.workloads.insert(
    { ...settings, created_at: now, updated_at: now },
    typeof code === "string" ? undefined : code,
    ownState(ctx.pipeline.plugins, settings),
  );
  if (!row) throw conflict(`workload ${input.slug} exists`);
  ctx.pipeline.workloads.set(row.slug, row);
  ctx.pipeline.tell.workloads();
  ctx.log.info({ workload: row.slug }, "workload created");
  return recordOf(ctx, row);
}

/** How often a write is tried whose workload somebody else changes at the same time. */
const TRIES = 10;

/** Replaces every mutable field. @throws AppError not_found, failed_condition as `changeWorkload`, invalid as `createWorkload` or when the body names another slug. */
export async function replaceWorkload(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "db" | "kv" | "log" | "pipeline">,
  slug: string,
  { slug: named, version_note, ...input }: WorkloadUpdate,
  { by, if_match }: { by: string; if_match?: string | undefined },
): Promise<Workload> {
  if (named !== undefined && named !== slug)
    throw invalid(["body", "slug"], "must be the slug of the path: it cannot be changed");
  checkSchedule(input, ctx.clock.now());
  const saved: Saved = { by, note: version_note };
  for (let tried = 1; ; tried += 1) {
    const stored = (await ctx.db.workloads.get(slug)) ?? missing();
    const asked = versionsOf(if_match);
    if (asked && !asked.includes(stored.updated_at)) throw changedSince();
    const { executor_config, code } = await settleCode(ctx, input, stored, saved);
    const settings = { ...input, executor_config };
    await checkNames(ctx, slug, settings, stored);
    const updated_at = ctx.clock.now();
    // What becomes of the code was decided by what is stored: another write in between decides it anew.
    const over = [stored.updated_at];
    const row =
      typeof code === "string"
        ? await ctx.db.workloads.update(
            slug,
            { ...settings, updated_at, ...(code === "none" ? { code_sha256: null } : {}) },
            over,
          )
        : await ctx.db.workloads.updateCode(slug, { ...settings, updated_at }, code, over);
    if (row) {
      if (typeof code !== "string") await afterSave(ctx, row);
      return changed(ctx, row);
    }
    if (tried === TRIES) throw changedSince();
  }
}

/** The versions that an If-Match names; undefined for any. A weak tag, or one that was never issued, names none. */
export const versionsOf = (if_match: string | undefined): number[] | undefined =>
  if_match === undefined || if_match.trim() === "*"
    ? undefined
    : if_match.split(",").flatMap((tag) => {
        const [, version] = /^"([0-9]{1,15})"$/.exec(tag.trim()) ?? [];
        return version === undefined ? [] : [Number(version)];
      });

/**
 * `if_match`: the header of that name; the settings are changed only when they have a version that it names.
 * @throws AppError not_found, failed_condition when they are of another version
 */
export async function changeWorkload(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "db" | "pipeline">,
  slug: string,
  set: Partial<Pick<WorkloadUpdate, "enabled" | "supervisor_enabled">>,
  if_match?: string,
): Promise<Workload> {
  const settings = { ...set, updated_at: ctx.clock.now() };
  const row = await ctx.db.workloads.update(slug, settings, versionsOf(if_match));
  if (!row) {
    if (if_match !== undefined && (await ctx.db.workloads.get(slug)) !== null) throw changedSince();
    throw notFound("workload");
  }
  return changed(ctx, row);
}

export const changedSince = () =>
  new AppError(
    "failed_condition",
    "the settings have changed: read them again, and send If-Match with the new ETag",
  );

/** Claims and the other control planes see it from now on. */
export function changed(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "db" | "pipeline">,
  row: WorkloadRow,
): Promise<Workload> {
  ctx.pipeline.workloads.set(row.slug, row);
  ctx.pipeline.tell.workloads();
  if (row.enabled) lookAgain(ctx.pipeline.ready, row.workload_id);
  return recordOf(ctx, row);
}

/** With its queue and what its plugin keeps for it; its runs stay. @throws AppError not_found, or conflict while a task is claimed. */
export async function deleteWorkload(
  ctx: Pick<PipelineContext, "db" | "pipeline" | "log">,
  slug: string,
  force: boolean,
): Promise<void> {
  const row = (await ctx.db.workloads.get(slug)) ?? missing();
  const own = ownState(ctx.pipeline.plugins, row);
  if (!(await ctx.db.workloads.delete(row.workload_id, force, own))) {
    if ((await ctx.db.workloads.get(slug)) === null) throw notFound("workload");
    throw conflict("some of its tasks are claimed; ?force=true deletes it nevertheless");
  }
  ctx.pipeline.workloads.set(slug, null);
  ctx.pipeline.tell.workloads();
  ctx.log.info({ workload: slug, force }, "workload deleted");
  // A small queue is deleted immediately, the rest of a large one bit by bit (purgeOnce).
  await purgeWorkload(ctx, row.workload_id, { pieces: 2 });
}
