import { type CronSpec, checkPattern, checkZone, tickAfter, tickUpTo } from "#hub/platform/cron.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import type { ScheduleRow } from "#hub/platform/db/view-types.ts";
import { createDuePass, LOOK_EVERY_MS } from "#hub/platform/due-pass.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { PipelineContext } from "../context.ts";
import { newTask } from "../tasks/tasks.ts";

const MINUTE_MS = 60_000;
/** Submitting a task takes milliseconds. */
const TAKEN_MS = 30_000;
/** Counted in addition to the metrics of the API: the flow graph draws it as a separate edge. */
export const SCHEDULED = "scheduled";

type Scheduled = Pick<WorkloadRow, "schedule" | "schedule_tz">;
type ScheduleContext = Pick<PipelineContext, "db" | "clock" | "log" | "pipeline" | "disk_room">;

const cronOf = ({ schedule, schedule_tz }: Scheduled): CronSpec => ({
  pattern: schedule ?? "",
  timezone: schedule_tz,
});
const specOf = ({ schedule, schedule_tz }: Scheduled) => `${schedule} ${schedule_tz}`;

/** @throws AppError invalid naming `schedule` or `schedule_tz` when the schedule has no future tick. */
export function checkSchedule(workload: Scheduled, now: number): void {
  const { schedule, schedule_tz } = workload;
  checkZone(schedule_tz, "schedule_tz");
  if (schedule !== null) checkPattern(cronOf(workload), "schedule", now);
}

/**
 * Submits the tasks of schedules whose time has come: one per tick, with the tick's ISO time as its key. Ticks that passed
 * while the workload was off are not made up for; of those that passed while no control plane ran, only the newest is.
 * @returns when the next tick is, epoch ms; Infinity when there is none.
 */
export async function scheduleOnce(ctx: ScheduleContext): Promise<number> {
  // The newest tick that passes meanwhile is made up for.
  if (ctx.disk_room.shortage !== null) return Number.POSITIVE_INFINITY;
  // Not from the cache: an entry that is half a second old could restart a schedule that another process has changed.
  const scheduled = (await ctx.db.workloads.list()).filter(({ schedule }) => schedule !== null);
  if (scheduled.length === 0) return Number.POSITIVE_INFINITY;
  const rows = new Map((await ctx.db.schedules.list()).map((row) => [row.workload_id, row]));
  let next = Number.POSITIVE_INFINITY;
  for (const workload of scheduled) {
    try {
      next = Math.min(next, await runSchedule(ctx, workload, rows.get(workload.workload_id)));
    } catch (err) {
      ctx.log.error({ workload: workload.slug, err: errorMessage(err) }, "schedule failed");
    }
  }
  return next;
}

/** The pass of a loop without a wait: submits the tasks of each schedule at its ticks. */
export const createScheduler = (ctx: ScheduleContext): ((signal: AbortSignal) => Promise<void>) =>
  createDuePass(ctx.clock, () => scheduleOnce(ctx));

/** @returns when its next tick is. */
async function runSchedule(
  ctx: ScheduleContext,
  workload: WorkloadRow,
  row: ScheduleRow | undefined,
): Promise<number> {
  const now = ctx.clock.now();
  const spec = specOf(workload);
  if (row?.spec !== spec) {
    const { workload_id, updated_at } = workload;
    // It may have been written some seconds ago, and a tick may have passed since.
    const since = Math.min(now, Math.max(updated_at, now - 2 * LOOK_EVERY_MS));
    const next_at = tickAfter(cronOf(workload), since);
    await ctx.db.schedules.begin({ workload_id, spec, next_at });
    return next_at;
  }
  if (row.next_at > now) return row.next_at;
  const tick = Math.max(row.next_at, tickUpTo(cronOf(workload), now) ?? row.next_at);
  const next_at = tickAfter(cronOf(workload), now);
  // Decides between control processes. If the winner dies before it moves the row on, the tick is submitted again.
  if (!(await ctx.db.schedules.take(row, now, now + TAKEN_MS))) return next_at;
  try {
    if (workload.enabled) await submitTick(ctx, workload, tick);
  } catch (err) {
    await ctx.db.schedules.leave(row);
    throw err;
  }
  await ctx.db.schedules.advance(row, next_at);
  return next_at;
}

async function submitTick(
  { db, pipeline, log }: ScheduleContext,
  workload: WorkloadRow,
  tick: number,
): Promise<void> {
  const { workload_id, slug } = workload;
  const pk = isoTime(tick);
  const task = newTask(workload, { pk, extra: { scheduled_at: pk } }, ["schedule"]);
  const { submitted } = await pipeline.turns.call({ op: "submit", workload_id, tasks: [task] });
  log.info({ workload: slug, pk, submitted }, "scheduled task submitted");
  if (submitted === 0) return;
  pipeline.wake(workload_id, submitted);
  const minute = Math.floor((await pipeline.store.now()) / MINUTE_MS) * MINUTE_MS;
  await db.flow
    .count({ minute, workload_id, metric: SCHEDULED, node: "schedule", n: submitted })
    .catch((err) => log.warn({ err: errorMessage(err) }, "could not count a scheduled task"));
}
