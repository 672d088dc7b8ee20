import type { JobRow } from "#hub/platform/db/rows.ts";
import type { FleetContext } from "../context.ts";
import { isAttached } from "./attach.ts";
import { tell } from "./events.ts";
import { isReserving } from "./scripted.ts";

/** Scripted jobs that leave the last free lane of several to fetch jobs (setting lane_reserve_s). */

/** How many jobs one look reports; the others follow once these have their lanes. */
const BATCH = 32;
/** Each look reads the queue, and there may be hundreds of passes a second. */
const LOOK_EVERY_MS = 1_000;
/** What a queued job's record says once its log says what it waits for. */
const STAGE = "queued";

/**
 * Says once, in the log of each job that is held back, what it waits for, and asks for a pass when the first of them
 * may have the lane after all. Runs after a pass, when only the jobs that got no lane are still waiting.
 */
export async function tellHeldBack(
  ctx: Pick<
    FleetContext,
    | "bus"
    | "clock"
    | "db"
    | "disk_room"
    | "dispatcher"
    | "draining"
    | "links"
    | "log"
    | "scripted"
    | "stopping"
    | "wall_jumps"
  >,
): Promise<void> {
  const { scripted, clock, db } = ctx;
  const now = clock.monotonic();
  if (!isReserving(ctx)) return;
  if (now < scripted.reserve.looked_at + LOOK_EVERY_MS)
    return wakeAt(ctx, scripted.reserve.looked_at + LOOK_EVERY_MS);
  scripted.reserve.looked_at = now;
  const old_enough = ctx.wall_jumps.olderThan(scripted.reserve.ms);
  const rows = await db.jobs.oldestQueued(Number.MAX_SAFE_INTEGER, BATCH, "scripted");
  for (const row of rows) {
    const left_ms = row.created_at - old_enough;
    if (isAttached(row) || left_ms <= 0) continue;
    wakeAt(ctx, now + left_ms);
    if (row.stage === null && (await db.jobs.markQueued(row.job_id, STAGE)))
      await tellOf(ctx, row, left_ms);
  }
}

async function tellOf(
  ctx: Pick<FleetContext, "scripted" | "log" | "clock" | "db" | "bus">,
  { job_id }: JobRow,
  left_ms: number,
): Promise<void> {
  const reserve_s = ctx.scripted.reserve.ms / 1_000;
  ctx.log.info({ job_id, reserve_s, left_ms }, "the last free lane is left to fetch jobs");
  const message = `one lane is free, and is left to fetch jobs for up to ${reserve_s} s (setting lane_reserve_s)`;
  await tell(ctx, job_id, "info", STAGE, message, { reserve_s, left_ms });
}

/** Asks for a pass at that time; if an earlier one is already due, that pass asks for the later one. */
function wakeAt(
  ctx: Pick<FleetContext, "clock" | "scripted" | "stopping" | "dispatcher">,
  due_at: number,
): void {
  const { clock, scripted, stopping, dispatcher } = ctx;
  const { reserve } = scripted;
  if (reserve.due_at <= due_at) return;
  reserve.due_at = due_at;
  void clock.sleep(due_at - clock.monotonic(), stopping).then(() => {
    if (reserve.due_at === due_at) reserve.due_at = Number.POSITIVE_INFINITY;
    reserve.looked_at = Number.NEGATIVE_INFINITY;
    dispatcher.kick();
  });
}
