import { createDuePass } from "#hub/platform/due-pass.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { isTerminal } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { missingEnd } from "../jobs/events.ts";
import type { JobCreateContext, JobRemovalContext } from "../jobs/job-contexts.ts";
import { captureFor } from "./capture.ts";
import { decideCapture } from "./decide.ts";
import { nextTime } from "./next-time.ts";

/** What captures a page that is due and decides what came of it. */
type WatchContext = JobCreateContext &
  Pick<FleetContext, "changes" | "comparisons" | "disk_room" | "recordings">;

/** The hub that announces the end of a capture decides it within milliseconds; this is for hubs that died. */
const LEFT_MS = 10_000;
/** Captures that are submitted at a time. */
const AT_ONCE = 8;

/** What cannot be submitted is refused for a reason that somebody has to read; what may pass is tried again. */
async function captureDue(
  ctx: JobCreateContext & Pick<FleetContext, "changes">,
  watch_id: string,
  due_at: number,
): Promise<void> {
  const watch = await ctx.db.watches.get(watch_id);
  if (!watch || watch.next_at !== due_at || watch.capturing !== null) return;
  try {
    if (await captureFor(ctx, watch, due_at)) ctx.changes.touch("watches");
  } catch (err) {
    if (!(err instanceof AppError) || err.kind === "unavailable") throw err;
    const next_at = nextTime(watch, due_at, ctx.clock.now());
    const last_error = `no capture was made: ${refusal(err)}`;
    if (!(await ctx.db.watches.pass(watch_id, due_at, { next_at, last_error }))) return;
    ctx.log.warn({ watch_id, err: last_error }, "a capture of a watch was refused");
    ctx.changes.touch("watches");
  }
}

function refusal(err: AppError): string {
  if (!Array.isArray(err.detail)) return errorMessage(err);
  return err.detail.map(({ loc, msg }) => `${loc.slice(1).join(".")} ${msg}`).join("; ");
}

/** The hub that ended the job is gone, or could not decide; the stream of its events has no end perhaps. */
async function decideLeft(
  ctx: JobRemovalContext & Pick<FleetContext, "changes" | "comparisons">,
  watch_id: string,
  job_id: string,
): Promise<void> {
  const row = await decideCapture(ctx, watch_id, job_id);
  const end = row && (await missingEnd(ctx, row, 0));
  if (!end) return;
  const { ts, type, data } = end;
  await ctx.db.events.append(job_id, [{ ts, type, data }]);
  ctx.bus.publish(job_id);
}

type Pending = Awaited<ReturnType<FleetContext["db"]["watches"]["pending"]>>[number];

const isAhead = ({ capturing, next_at }: Pending): boolean =>
  capturing === null && next_at !== null;

function workFor(ctx: WatchContext, pending: Pending): (() => Promise<void>) | null {
  const { watch_id, next_at, capturing, job_status, finished_at } = pending;
  const now = ctx.clock.now();
  if (capturing === null)
    return next_at !== null && next_at <= now && ctx.disk_room.shortage === null
      ? () => captureDue(ctx, watch_id, next_at)
      : null;
  const over = job_status === null || isTerminal(job_status);
  if (!over || (finished_at !== null && now - finished_at < LEFT_MS)) return null;
  return () => decideLeft(ctx, watch_id, capturing);
}

/**
 * Makes the captures that are due, and decides those whose hub did not. A time that comes while the capture before is
 * under way waits for it; of several times that passed, one is made up for (rules/watches#missed-times).
 * @returns when the next one is due, epoch ms; Infinity when none is.
 */
export async function watchOnce(ctx: WatchContext): Promise<number> {
  const all = await ctx.db.watches.pending();
  const work = all.map((pending) => ({ pending, run: workFor(ctx, pending) }));
  const now = work.filter(({ run }) => run !== null);
  for (let n = 0; n < now.length && !ctx.draining.aborted; n += AT_ONCE)
    await Promise.all(
      now
        .slice(n, n + AT_ONCE)
        .map(({ pending: { watch_id }, run }) =>
          run?.().catch((err) => ctx.log.error({ watch_id, err }, "a watch failed")),
        ),
    );
  // Where a disk is short, what is due waits for a later look.
  const later = ctx.disk_room.shortage === null ? all.filter(isAhead) : [];
  return Math.min(Number.POSITIVE_INFINITY, ...later.map(({ next_at }) => next_at as number));
}

/** The pass of a loop without a wait: captures each watch when it is due. */
export const createWatcher = (ctx: WatchContext): ((signal: AbortSignal) => Promise<void>) =>
  createDuePass(ctx.clock, () => watchOnce(ctx));
