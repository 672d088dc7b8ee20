import type { JobRow } from "#hub/platform/db/rows.ts";
import { AppError } from "#shared/kit/errors.ts";
import { isTerminal, SubmitJob } from "#shared/protocol/schema/job.ts";
import { browserOptionsOfCall } from "#shared/protocol/schema/one-shot.ts";
import type { FleetContext } from "../context.ts";
import { endSession } from "../sessions/end.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { type OneShot, sessionFor } from "../sessions/one-shot.ts";
import { cancelJob } from "./cancel.ts";
import type { JobCancelContext, JobSubmitContext } from "./job-contexts.ts";
import { submitJob } from "./submit.ts";

/**
 * A one-shot call that is a job as well (rules/one-shot-calls#as-a-job): the job captures the page and leaves its browser
 * open, and the call is answered there.
 */

/** How often the job is looked at where no message tells of its end. */
const LOOK_MS = 500;
/** Between the end of a job and its browser's being left to others. */
const LEFT_MS = 5_000;
const LEFT_LOOK_MS = 10;

const jobOf = (one_shot: OneShot): SubmitJob => {
  const { url, egress, proxy, dialog_policy, referer, load_timeout_s } = one_shot.call;
  const wait_seconds = load_timeout_s === undefined ? undefined : Math.ceil(load_timeout_s);
  const { headless } = sessionFor(one_shot);
  return SubmitJob.parse({
    url,
    options: {
      keep_session: true,
      idle_seconds: 0.5,
      max_wait_seconds: Math.floor(one_shot.call.timeout_s / 2),
      headless,
      ...browserOptionsOfCall(one_shot.call),
      egress,
      proxy,
      dialog_policy,
      referer,
      wait_seconds,
    },
  });
};

/**
 * Runs the job to its end.
 * @throws AppError at_capacity when there is no lane in time, timed_out when its time is up, unavailable when its caller has
 *   gone: in each case it is cancelled. Invalid, with its id, when it failed.
 */
export async function runOneShotJob(
  ctx: JobSubmitContext,
  one_shot: OneShot,
  signal: AbortSignal,
): Promise<JobRow> {
  const until = ctx.clock.monotonic() + ctx.config.submit_wait_ms + one_shot.call.timeout_s * 1_000;
  const job_id = await submitted(ctx, jobOf(one_shot));
  const row = await endOf(ctx, job_id, until, signal);
  if (row?.status === "completed") return row;
  await giveUp(ctx, job_id);
  const body = { job_id };
  if (signal.aborted) throw new AppError("unavailable", "the client has gone");
  if (row === null)
    throw new AppError("timed_out", `the job did not end within ${one_shot.call.timeout_s} s`, {
      body,
    });
  throw new AppError("invalid", row.error ?? `the job was ${row.status}`, { body });
}

/** Nobody would take the answer of a job that gets its lane later. */
async function submitted(ctx: JobSubmitContext, input: SubmitJob): Promise<string> {
  try {
    return (await submitJob(ctx, input)).job_id;
  } catch (err) {
    if (!(err instanceof AppError) || err.kind !== "at_capacity") throw err;
    const { job_id, ...body } = err.body;
    if (typeof job_id === "string") await giveUp(ctx, job_id);
    throw new AppError("at_capacity", err.detail, { body, headers: err.headers });
  }
}

/** The job once it has ended; null when its time is up, or the caller has gone. */
async function endOf(
  ctx: Pick<FleetContext, "db" | "clock" | "bus">,
  job_id: string,
  until: number,
  signal: AbortSignal,
): Promise<JobRow | null> {
  for (;;) {
    const woken = new AbortController();
    const stop = ctx.bus.subscribe(job_id, () => woken.abort());
    try {
      const row = await ctx.db.jobs.get(job_id);
      const left = until - ctx.clock.monotonic();
      if (row === undefined || row === null || signal.aborted || left <= 0) return null;
      if (isTerminal(row.status)) return row;
      await ctx.clock.sleep(Math.min(left, LOOK_MS), AbortSignal.any([woken.signal, signal]));
    } finally {
      stop();
    }
  }
}

/** Cancels the job, or ends the browser that it has left. Never rejects. */
async function giveUp(ctx: JobCancelContext, job_id: string): Promise<void> {
  try {
    await cancelJob(ctx, job_id);
  } catch (err) {
    if (!(err instanceof AppError)) ctx.log.error({ job_id, err }, "a job was not given up");
    const row = await ctx.db.jobs.get(job_id).catch(() => null);
    const session = row && (await leftBy(ctx, row));
    if (session) await endSession(ctx, session, "nobody waits for its answer");
  }
}

/** The session that the job has left open here, once it is nobody's; null when there is none. */
export async function leftBy(
  ctx: Pick<FleetContext, "sessions" | "clock">,
  { session_id, job_id }: Pick<JobRow, "session_id" | "job_id">,
): Promise<HubSession | null> {
  const until = ctx.clock.monotonic() + LEFT_MS;
  for (;;) {
    const session = session_id === null ? undefined : ctx.sessions.get(session_id);
    if (!session || session.job_id !== job_id) return null;
    if (session.kind === "kept") return session;
    if (ctx.clock.monotonic() >= until) return null;
    await ctx.clock.sleep(LEFT_LOOK_MS);
  }
}
