import type { EventRow, JobRow } from "#hub/platform/db/rows.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { JobLogEntry } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { countEnd } from "../metrics/count-end.ts";
import type { JobEndContext } from "./job-contexts.ts";
import { releaseJobSession } from "./job-sessions.ts";
import { endJobTrace } from "./job-trace.ts";
import type { NewEvent } from "./parts.ts";
import { jobRecord } from "./record.ts";
import { isScripted, scriptedEnded } from "./scripted.ts";

/** Stores events of a job in order and wakes the streams that follow it. */
async function appendEvents(
  ctx: Pick<FleetContext, "db" | "bus">,
  job_id: string,
  events: NewEvent[],
): Promise<void> {
  await ctx.db.events.append(job_id, events);
  ctx.bus.publish(job_id);
}

/** Beyond this many, the oldest lines are dropped: a page may log for as long as the database is away. */
const MAX_WAITING_LINES = 2_000;

/**
 * Takes the lines out of `waiting` and stores them. While the database cannot store them they go back, because only the
 * hub has them.
 * @throws the database's error
 */
export async function storeLines(
  ctx: Pick<FleetContext, "db" | "bus">,
  job_id: string,
  waiting: NewEvent[],
): Promise<void> {
  const lines = waiting.splice(0);
  if (lines.length === 0) return;
  try {
    await appendEvents(ctx, job_id, lines);
  } catch (err) {
    if (err instanceof AppError && err.kind === "unavailable")
      waiting.unshift(...lines.slice(-MAX_WAITING_LINES));
    throw err;
  }
}

export const logEvent = ({ ts, level, stage, message, fields }: JobLogEntry): NewEvent => ({
  ts,
  type: "log",
  data: { level, stage, message, fields },
});

/** Adds one line of the hub's own to the job's log. */
export const tell = (
  ctx: Pick<FleetContext, "clock" | "db" | "bus">,
  job_id: string,
  level: JobLogEntry["level"],
  stage: string,
  message: string,
  fields: Record<string, unknown> = {},
): Promise<void> =>
  appendEvents(ctx, job_id, [logEvent({ ts: ctx.clock.now(), level, stage, message, fields })]);

/** The last event of a job: `error` for a failed one, `done` with the record for the others (rules/events#event-stream). */
function terminalEvent(row: JobRow, now: number): NewEvent {
  const ts = row.finished_at ?? now;
  if (row.status === "failed")
    return { ts, type: "error", data: { detail: row.error ?? "failed" } };
  return { ts, type: "done", data: { ...jobRecord(row) } };
}

/**
 * The last event of a job that has ended, where nothing after `last` was stored because the hub died between its two
 * writes; null where it is stored, or `last` is that event.
 */
export async function missingEnd(
  ctx: Pick<FleetContext, "db" | "clock">,
  row: JobRow,
  last: number,
): Promise<EventRow | null> {
  const [stored] = await ctx.db.events.last(row.job_id, 1);
  if ((stored && stored.type !== "log") || last > (stored?.seq ?? 0)) return null;
  const { ts, type, data } = terminalEvent(row, ctx.clock.now());
  return { job_id: row.job_id, seq: last + 1, ts, type, data };
}

/**
 * Everything that follows from the end of a job, whatever ended it. Call it only with the row your own statement
 * changed.
 * @param reported the worker reported the end and still has the browser: a keep_session job's session stays open.
 */
export async function announceEnd(
  ctx: JobEndContext,
  row: JobRow,
  reported = false,
): Promise<void> {
  ctx.log.info(
    { job_id: row.job_id, status: row.status, worker_id: row.worker_id, error: row.error },
    "job finished",
  );
  countEnd(ctx, row);
  void endJobTrace(ctx, row);
  // Before anybody hears of the end: the viewer of a job that has ended is 404 (rules/events#end-of-the-stream).
  await releaseJobSession(ctx, row, reported);
  if (isScripted(row)) await scriptedEnded(ctx, row);
  // What a capture changed is part of its story, so its end is told after that.
  if (row.watch_id === null) await storeEnd(ctx, row);
  ctx.waiters.get(row.job_id)?.(row);
  const { job_id, status, worker_id, lease_token, session_id } = row;
  ctx.cluster.tell({ type: "job_ended", job_id, status, worker_id, lease_token, session_id });
  if (row.watch_id === null) ctx.webhooks.jobEnded(row);
  else
    ctx.watching.ended(row, async (decided) => {
      await storeEnd(ctx, decided);
      ctx.webhooks.jobEnded(decided);
    });
  ctx.signal("job finished", { job_id: row.job_id, status: row.status });
}

const storeEnd = (ctx: Pick<FleetContext, "clock" | "db" | "bus">, row: JobRow): Promise<void> =>
  appendEvents(ctx, row.job_id, [terminalEvent(row, ctx.clock.now())]);
