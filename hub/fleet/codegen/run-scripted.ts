import { AppError, errorMessage } from "#shared/kit/errors.ts";
import type { RunEnd } from "#shared/protocol/link/messages.ts";
import type { FleetContext } from "../context.ts";
import type { JobLane } from "../links/worker-link.ts";
import type { ScriptedJob } from "./job.ts";
import { runLoop, runOnce } from "./loop.ts";

/** A worker has opened the page of a scripted job: its script runs from here on, in the background. */
export function startScripted(ctx: FleetContext, held: JobLane): void {
  const { job_id } = held.lease;
  const { runs } = ctx.scripted;
  if (runs.has(job_id)) return;
  const over = new AbortController();
  const done = runScripted(ctx, held, over.signal)
    .catch((err) => ctx.log.error({ job_id, err }, "a scripted run failed unexpectedly"))
    .finally(() => {
      runs.delete(job_id);
      // A runner is free.
      ctx.dispatcher.kick();
    });
  runs.set(job_id, { stop: (why) => over.abort(why), done });
}

/** Runs the job's scripts and reports the run's end to its worker, unless the job has ended meanwhile. */
async function runScripted(ctx: FleetContext, held: JobLane, stopped: AbortSignal): Promise<void> {
  const { job_id, token, session_id } = held.lease;
  const row = await ctx.db.jobs.get(job_id);
  if (row?.status !== "running" || row.lease_token !== token) return;
  const session = ctx.sessions.get(session_id);
  if (!session) {
    // The session is over, so its job is about to be.
    ctx.log.warn({ job_id }, "a page is ready whose session has ended");
    return;
  }
  const signal = AbortSignal.any([stopped, session.ended]);
  const page = { mute: false };
  const saved = new Map<string, string[]>();
  const job: ScriptedJob = { ctx, row, held, session, at: session, signal, saved, page };
  const end = await endOf(job);
  if (signal.aborted || end === null) return;
  ctx.scripted.ended.add(held);
  session.link.send({ type: "HubEndRun", job_id, lease_token: token, ...end });
}

async function endOf(job: ScriptedJob): Promise<RunEnd | null> {
  const { ctx, row, signal } = job;
  try {
    return await (row.mode === "rerun" ? runOnce(job) : runLoop(job));
  } catch (err) {
    if (signal.aborted) return null;
    if (!(err instanceof AppError))
      ctx.log.error({ job_id: row.job_id, err }, "a script failed unexpectedly");
    const error = `the script could not be run: ${errorMessage(err)}`.slice(0, 4_096);
    return { status: "failed", error, stage: "run" };
  }
}

/** The hub stops, its links are closed: waits until nothing is left of any script. */
export async function settleScripts({ scripted }: Pick<FleetContext, "scripted">): Promise<void> {
  await Promise.all([...scripted.runs.values()].map(({ done }) => done));
}
