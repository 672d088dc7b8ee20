import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { AppError, conflict, invalid, notFound } from "#shared/kit/errors.ts";
import type { ExecutorState } from "#shared/protocol/schema/executor.ts";
import type { Workload, WorkloadCreate, WorkloadUpdate } from "#shared/protocol/schema/workload.ts";
import type { PipelineContext } from "../context.ts";
import { lookAgain } from "../queue/ready-hints.ts";
import { purgeWorkload } from "../queue/retention.ts";
import { checkSchedule } from "../schedules/schedules.ts";
import { executorState } from "./executor-state.ts";
import { checkNames } from "./workload-checks.ts";

/** A row as the API shows it. */
const workloadRecord = (row: WorkloadRow, executor: ExecutorState): Workload => {
  const { workload_id: _id, created_at, updated_at, ...rest } = row;
  return { ...rest, executor, created_at: isoTime(created_at), updated_at: isoTime(updated_at) };
};

const recordOf = async (
  ctx: Pick<PipelineContext, "clock" | "pipeline" | "db">,
  row: WorkloadRow,
): Promise<Workload> =>
  workloadRecord(row, executorState(ctx, row, await ctx.db.pull_workers.list()));

export async function listWorkloads(
  ctx: Pick<PipelineContext, "db" | "clock" | "pipeline">,
): Promise<Workload[]> {
  const [rows, workers] = await Promise.all([ctx.db.workloads.list(), ctx.db.pull_workers.list()]);
  return rows.map((row) => workloadRecord(row, executorState(ctx, row, workers)));
}

/** @throws AppError not_found */
export const getWorkload = async (
  ctx: Pick<PipelineContext, "db" | "clock" | "pipeline">,
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
  ctx: Pick<PipelineContext, "clock" | "db" | "pipeline" | "log">,
  input: WorkloadCreate,
): Promise<Workload> {
  const now = ctx.clock.now();
  checkSchedule(input, now);
  await checkNames(ctx, input.slug, input);
  const row = await ctx.db.workloads.insert({ ...input, created_at: now, updated_at: now });
  if (!row) throw conflict(`workload ${input.slug} exists`);
  ctx.pipeline.workloads.set(row.slug, row);
  ctx.pipeline.tell.workloads();
  ctx.log.info({ workload: row.slug }, "workload created");
  return recordOf(ctx, row);
}

/** Replaces every mutable field. @throws AppError not_found, failed_condition as `changeWorkload`, invalid as `createWorkload` or when the body names another slug. */
export async function replaceWorkload(
  ctx: Pick<PipelineContext, "db" | "clock" | "pipeline">,
  slug: string,
  { slug: named, ...input }: WorkloadUpdate,
  if_match?: string,
): Promise<Workload> {
  if (named !== undefined && named !== slug)
    throw invalid(["body", "slug"], "must be the slug of the path: it cannot be changed");
  const stored = (await ctx.db.workloads.get(slug)) ?? missing();
  checkSchedule(input, ctx.clock.now());
  await checkNames(ctx, slug, input, stored);
  return changeWorkload(ctx, slug, input, if_match);
}

/** The versions that an If-Match names; undefined for any. A weak tag, or one that was never issued, names none. */
const versionsOf = (if_match: string | undefined): number[] | undefined =>
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
  ctx: Pick<PipelineContext, "clock" | "db" | "pipeline">,
  slug: string,
  set: Partial<Omit<WorkloadUpdate, "slug">>,
  if_match?: string,
): Promise<Workload> {
  const settings = { ...set, updated_at: ctx.clock.now() };
  const row = await ctx.db.workloads.update(slug, settings, versionsOf(if_match));
  if (!row) {
    if (if_match !== undefined && (await ctx.db.workloads.get(slug)) !== null)
      throw new AppError(
        "failed_condition",
        "the settings have changed: read them again, and send If-Match with the new ETag",
      );
    throw notFound("workload");
  }
  ctx.pipeline.workloads.set(slug, row);
  ctx.pipeline.tell.workloads();
  if (row.enabled) lookAgain(ctx.pipeline.ready, row.workload_id);
  return recordOf(ctx, row);
}

/** With its queue; its runs stay. @throws AppError not_found, or conflict while a task is claimed. */
export async function deleteWorkload(
  ctx: Pick<PipelineContext, "db" | "pipeline" | "log">,
  slug: string,
  force: boolean,
): Promise<void> {
  const row = (await ctx.db.workloads.get(slug)) ?? missing();
  if (!(await ctx.db.workloads.delete(row.workload_id, force))) {
    if ((await ctx.db.workloads.get(slug)) === null) throw notFound("workload");
    throw conflict("some of its tasks are claimed; ?force=true deletes it nevertheless");
  }
  ctx.pipeline.workloads.set(slug, null);
  ctx.pipeline.tell.workloads();
  ctx.log.info({ workload: slug, force }, "workload deleted");
  // A small queue is deleted immediately, the rest of a large one bit by bit (purgeOnce).
  await purgeWorkload(ctx, row.workload_id, { pieces: 2 });
}
