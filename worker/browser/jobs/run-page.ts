import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { VIDEO_LIMITS } from "#shared/protocol/limits.ts";
import type { RunEnd, RunExtras } from "#shared/protocol/link/messages.ts";
import { isMasked } from "#shared/protocol/proxy.ts";
import type { JobOptions } from "#shared/protocol/schema/job.ts";
import type { AcceptedJob } from "#worker/browser/jobs/assignments.ts";
import type { JobStory } from "#worker/link/story.ts";
import type { AssetSink } from "#worker/upload/asset-sink.ts";
import type { JobOutcome, JobRun } from "../lanes/lane-browser.ts";
import type { SeededProfile } from "../profile/profiles.ts";
import type { ScriptedRun } from "../scripted/run-scripted.ts";
import type { Live } from "../session/live.ts";
import type { JobTrace, Traces } from "../trace/traces.ts";
import { type BrowserSources, type JobBrowser, takeBrowser } from "./job-browser.ts";

/** How long a stopped run may take to leave its page; the lane's reset ends the rest. */
const SETTLE_MS = 5_000;
/**
 * On top of every wait the options allow: reading and uploading big bodies. A run that is still going after that
 * hangs.
 */
const RUN_MARGIN_MS = 900_000;

export interface RunPageDeps {
  clock: Clock;
  runFetch(run: JobRun): Promise<JobOutcome>;
  runScripted(run: ScriptedRun): Promise<JobOutcome>;
  /** The profile the job's browser starts with, or null for a plain one (rules/profiles#profile-of-a-run). */
  profileFor(job: AcceptedJob, signal: AbortSignal): SeededProfile | null;
  /** The capture that its browser shows; null: the web. */
  replayFor(job: AcceptedJob): BrowserSources["replay"];
  /** Traces the job's script; null: that is not asked for. */
  traceJob: Traces["ofJob"];
}

export const failure = (error: string, stage: string | null = null): JobOutcome => ({
  status: "failed",
  error,
  stage,
  http_status: null,
  final_url: null,
  title: null,
  capture: null,
});

/**
 * The longest a run with these options may take, in milliseconds. After a login, the navigation back gets the same
 * time again.
 */
function runBudgetMs(o: JobOptions, { recipe, login_recipe }: RunExtras): number {
  const waits = o.wait_seconds + o.settle_seconds + o.idle_seconds + o.max_wait_seconds;
  const recipes = (recipe?.timeout_s ?? 0) + 2 * (login_recipe?.timeout_s ?? 0);
  const videos_ms = o.download_video ? VIDEO_LIMITS.total_ms : 0;
  return (waits + o.post_click_seconds + recipes) * 1000 + videos_ms + RUN_MARGIN_MS;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** The hub bounds a script's own time: the budget applies to the page before it, and once more after it. */
async function scriptOver(
  clock: Clock,
  budget_ms: number,
  opened: Promise<void>,
  run_end: Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const open = new AbortController();
  void opened.then(() => open.abort());
  await clock.sleep(budget_ms, AbortSignal.any([signal, open.signal]));
  if (!open.signal.aborted) return;
  await Promise.race([run_end, aborted(signal)]);
  await clock.sleep(budget_ms, signal);
}

/** What the run has of its browser and session. */
const browserOf = (
  { dialogs, mask, shown: { options, blocking, http_login } }: Live,
  { browser, tab }: JobBrowser,
): Pick<
  JobRun,
  "browser" | "tab" | "dialogs" | "blocks" | "max_download_bytes" | "http_login" | "hide"
> => ({
  browser,
  tab,
  dialogs,
  max_download_bytes: options?.max_download_bytes ?? null,
  blocks: blocking?.pause(browser.connection) ?? null,
  http_login,
  hide: mask.hide,
});

/** Says in the report what was blocked. */
const withBlocked = (outcome: JobOutcome, { shown: { blocking } }: Live): JobOutcome =>
  blocking && outcome.capture
    ? { ...outcome, capture: { ...outcome.capture, blocked: blocking.report() } }
    : outcome;

/** Says in the report how the replay went, and fails a job whose page the capture does not have. */
function withReplay(outcome: JobOutcome, { replay }: Live): JobOutcome {
  if (!replay || !outcome.capture) return outcome;
  const report = replay.report();
  const told = { ...outcome, capture: { ...outcome.capture, replay: report } };
  const { status, http_status, final_url } = outcome;
  const lacks = report.missed.some(({ url }) => url === final_url);
  if (status !== "completed" || http_status !== 504 || !lacks) return told;
  const error = `the capture of job ${report.job_id} has no answer for ${final_url}`;
  return { ...told, status: "failed", error, stage: "navigate" };
}

async function endOfScript({ run_end }: AcceptedJob, trace: JobTrace | null): Promise<RunEnd> {
  const end = await run_end;
  await trace?.keep();
  return end;
}

/** Runs the page and never rejects; returns at most 5 s after the signal aborted. */
export async function runPage(
  deps: RunPageDeps,
  job: AcceptedJob,
  live: Live,
  story: JobStory,
  sink: AssetSink,
): Promise<JobOutcome> {
  const { options, assignment } = job;
  if ("invalid" in options)
    return failure(`worker cannot run this job: ${options.invalid}`, "assigned");
  const { proxy } = assignment.extras;
  if (proxy ? isMasked(proxy) : options.proxy !== null)
    return failure(
      "the login of the job's proxy is gone: submit the job again with it",
      "assigned",
    );
  let stage = "lane";
  const overdue = new AbortController();
  const stop = () => overdue.abort(job.signal.reason);
  const scripted = options.mode !== "fetch";
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const trace = deps.traceJob(job, live, sink, story);
  const run = async (taken: JobBrowser): Promise<JobOutcome> => {
    overdue.signal.throwIfAborted();
    stage = "run";
    const { job_id, url, extras } = assignment;
    const asked = { job_id, url, options, extras, is_recorded: live.recorders.size > 0 };
    const page = { ...asked, ...browserOf(live, taken), story, sink, signal: overdue.signal };
    if (!scripted) return deps.runFetch(page);
    const ready: ScriptedRun["ready"] = async (script) => {
      live.script = script;
      await live.focus(script.target_id);
      open();
      job.tellReady();
    };
    return deps.runScripted({ ...page, ready, ended: endOfScript(job, trace) });
  };
  const work = async (): Promise<JobOutcome> => {
    const profile = deps.profileFor(job, overdue.signal);
    const sources = { profile, replay: deps.replayFor(job) };
    const taken = await takeBrowser(job, options, live, sources, story, (next) => {
      stage = next;
    });
    return run(taken)
      .then((outcome) => withReplay(withBlocked(outcome, live), live))
      .finally(() => taken.leave());
  };
  const over = new AbortController();
  const guard = async (): Promise<JobOutcome> => {
    const budget_ms = runBudgetMs(options, assignment.extras);
    const idle = AbortSignal.any([over.signal, overdue.signal]);
    if (scripted) await scriptOver(deps.clock, budget_ms, opened, job.run_end, idle);
    else await deps.clock.sleep(budget_ms, idle);
    if (!overdue.signal.aborted && !over.signal.aborted)
      overdue.abort(new Error(`the run did not end within ${budget_ms / 1000} s`));
    await deps.clock.sleep(SETTLE_MS, over.signal);
    return failure(errorMessage(overdue.signal.reason), stage);
  };
  job.signal.addEventListener("abort", stop, { once: true });
  if (job.signal.aborted) stop();
  try {
    const broken = (err: unknown) => failure(errorMessage(err), stage);
    const outcome = await Promise.race([work().catch(broken), guard()]);
    // A run takes every abort for a cancellation; the one for time is reported as such.
    const late = overdue.signal.aborted && !job.signal.aborted;
    return late
      ? { ...outcome, status: "failed", error: errorMessage(overdue.signal.reason) }
      : outcome;
  } finally {
    over.abort();
    trace?.leave();
    live.script = null;
    job.signal.removeEventListener("abort", stop);
    // Bun keeps a signal of `AbortSignal.any`, with its listeners and everything they reference, until one of its
    // sources aborts.
    overdue.abort(new Error("the run is over"));
  }
}
