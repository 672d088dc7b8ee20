import { type Clock, withDeadline } from "#shared/clock.ts";
import { errorMessage } from "#shared/errors.ts";
import type { WorkerResult } from "#shared/link/messages.ts";
import type { Log } from "#shared/log.ts";
import { humanSize } from "#shared/names.ts";
import type { CaptureReport, JobOptions } from "#shared/schema/job.ts";
import type { JobOutcome, JobRun, JobStory } from "./lanes/types.ts";
import { type AcceptedJob, RunStopped } from "./link/assignments.ts";
import { type BatchedStory, clip, createStory } from "./link/story.ts";
import type { SeededProfile } from "./profile/profiles.ts";
import type { FailedUpload, HttpSink } from "./upload/http-sink.ts";

/** How long a stopped run may take to let go of its page; the lane's reset ends the rest. */
const SETTLE_MS = 5_000;
/** How long a stopped run's partial uploads are still waited for. */
const STOPPED_FLUSH_MS = 2_000;
/** Uploads of a finished run: 4 GiB over a slow 50 Mbit/s network take 690 s. */
const FLUSH_MS = 900_000;
/** The hub answers a result at once; a lane is not kept from its next job for longer than this. */
const ACK_MS = 5_000;
/** On top of every wait the options allow: reading and uploading big bodies. A run that is still going then hangs. */
const RUN_MARGIN_MS = 900_000;

export interface RunJobDeps {
  clock: Clock;
  log: Log;
  runFetch(run: JobRun): Promise<JobOutcome>;
  openSink(job: AcceptedJob, story: JobStory): HttpSink;
  /** The profile the job's browser starts with, or null for a plain one (fleet spec §2.8). */
  profileFor(job: AcceptedJob, signal: AbortSignal): SeededProfile | null;
}

const failure = (error: string, stage: string | null = null): JobOutcome => ({
  status: "failed",
  error,
  stage,
  http_status: null,
  final_url: null,
  title: null,
  capture: null,
});

const isLinkLost = (signal: AbortSignal): boolean =>
  signal.reason instanceof RunStopped && signal.reason.kind === "link_lost";

/** The longest a run with these options may take, in milliseconds. */
function runBudgetMs(o: JobOptions): number {
  const waits = o.wait_seconds + o.settle_seconds + o.idle_seconds + o.max_wait_seconds;
  return (waits + o.post_click_seconds) * 1000 + RUN_MARGIN_MS;
}

/**
 * Moves bodies whose upload failed from `captured` (or `partial`) to `lost`, so that a report never claims what the hub
 * does not have. A partial body's cause is counted already.
 */
export function correctCapture(report: CaptureReport, failed: FailedUpload[]): CaptureReport {
  const whole = failed.filter((f) => f.was === "captured").length;
  const partial = failed.filter((f) => f.was === "partial").length;
  if (whole + partial === 0) return report;
  const captured = Math.max(0, report.captured - whole);
  const reasons = { ...report.reasons };
  if (whole > 0) reasons.upload_failed = (reasons.upload_failed ?? 0) + whole;
  return {
    ...report,
    captured,
    partial: Math.max(0, report.partial - partial),
    lost: report.lost + whole + partial,
    ratio: report.seen === 0 ? 1 : captured / report.seen,
    reasons,
  };
}

/** Runs the page and never rejects; comes back at the latest 5 s after the signal aborted. */
async function runPage(
  deps: RunJobDeps,
  job: AcceptedJob,
  story: JobStory,
  sink: HttpSink,
): Promise<JobOutcome> {
  const { options, assignment, hold } = job;
  if ("invalid" in options)
    return failure(`worker cannot run this job: ${options.invalid}`, "assigned");
  let stage = "lane";
  const overdue = new AbortController();
  const stop = () => overdue.abort(job.signal.reason);
  const work = async (): Promise<JobOutcome> => {
    const profile = deps.profileFor(job, overdue.signal);
    const browser = await hold.browser({
      headless: options.headless,
      ...(profile ? { seed: profile.seed } : {}),
    });
    const { product, headless, sandbox } = browser;
    story.log("info", "lane", `${product} is ready on lane ${hold.lane_idx}`, {
      headless,
      sandbox,
    });
    stage = "profile";
    await profile?.settle(browser, (level, message, fields) =>
      story.log(level, "profile", message, fields),
    );
    overdue.signal.throwIfAborted();
    stage = "run";
    const { job_id, url, extras } = assignment;
    return deps.runFetch({
      job_id,
      url,
      options,
      extras,
      browser,
      story,
      sink,
      signal: overdue.signal,
    });
  };
  const over = new AbortController();
  const guard = async (): Promise<JobOutcome> => {
    const budget_ms = runBudgetMs(options);
    await deps.clock.sleep(budget_ms, AbortSignal.any([over.signal, overdue.signal]));
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
    // A run takes every abort for a cancel; the one for time is told as what it is.
    const late = overdue.signal.aborted && !job.signal.aborted;
    return late
      ? { ...outcome, status: "failed", error: errorMessage(overdue.signal.reason) }
      : outcome;
  } finally {
    over.abort();
    job.signal.removeEventListener("abort", stop);
  }
}

type Flushed = Awaited<ReturnType<HttpSink["flush"]>>;

/** Waits for uploads as long as it makes sense: not at all without a link, 2 s for a stopped run. */
async function flushUploads(clock: Clock, job: AcceptedJob, sink: HttpSink): Promise<Flushed> {
  const late = new AbortController();
  const over = new AbortController();
  const giveUpAfter = async (ms: number) => {
    await clock.sleep(ms, over.signal);
    if (!over.signal.aborted) late.abort(new Error(`not stored within ${ms / 1000} s`));
  };
  const stopped = () => {
    if (isLinkLost(job.signal)) late.abort(job.signal.reason);
    else void giveUpAfter(STOPPED_FLUSH_MS);
  };
  job.signal.addEventListener("abort", stopped, { once: true });
  if (job.signal.aborted) stopped();
  void giveUpAfter(FLUSH_MS);
  try {
    return await sink.flush(late.signal);
  } finally {
    over.abort();
    job.signal.removeEventListener("abort", stopped);
  }
}

/** Tells what became of the uploads and corrects the outcome by it. */
function settleUploads(
  outcome: JobOutcome,
  flushed: Flushed,
  ms: number,
  story: JobStory,
): JobOutcome {
  const { stored, failed } = flushed;
  const size = humanSize(flushed.bytes);
  if (stored + failed.length === 0) return outcome; // the run has waited for its uploads itself
  if (failed.length === 0) story.log("info", "upload", `${stored} files stored, ${size}`, { ms });
  else
    story.log("warn", "upload", `${stored} files stored, ${size}; ${failed.length} were not`, {
      ms,
      failed: failed.slice(0, 20).map(({ name, reason }) => ({ name, reason })),
    });
  return { ...outcome, capture: outcome.capture && correctCapture(outcome.capture, failed) };
}

function resultOf(job: AcceptedJob, outcome: JobOutcome): WorkerResult {
  const text = (value: string | null, max: number) => (value === null ? null : clip(value, max));
  return {
    type: "result",
    job_id: job.assignment.job_id,
    lease_token: job.assignment.lease_token,
    status: outcome.status,
    error: text(outcome.error, 4_096),
    stage: text(outcome.stage, 64),
    http_status: outcome.http_status,
    final_url: text(outcome.final_url, 70_000),
    title: text(outcome.title, 4_096),
    capture: outcome.capture,
  };
}

async function tellAndRun(
  deps: RunJobDeps,
  job: AcceptedJob,
  story: BatchedStory,
  sink: HttpSink,
): Promise<void> {
  const { clock } = deps;
  const since = clock.now();
  const { lane_idx } = job.hold;
  const ran = await runPage(deps, job, story, sink);
  const uploading_since = clock.now();
  const flushed = await flushUploads(clock, job, sink);
  const outcome = settleUploads(ran, flushed, clock.now() - uploading_since, story);
  if (job.signal.aborted) {
    // A stopped run sends no result: the hub has ended the job already, or will not hear of it.
    story.log("warn", "done", `stopped: ${errorMessage(job.signal.reason)}`);
    return;
  }
  const ms = clock.now() - since;
  story.end();
  job.session.send(resultOf(job, outcome));
  deps.log.info(
    { job_id: job.assignment.job_id, lane_idx, status: outcome.status, ms },
    "job ended",
  );
  const gone = new Promise<void>((resolve) => {
    if (job.session.signal.aborted) return resolve();
    job.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const answered = Promise.race([job.acknowledged, gone]);
  await withDeadline("waiting for HubResultAck", ACK_MS, answered).catch((err) =>
    deps.log.warn({ job_id: job.assignment.job_id, err: errorMessage(err) }, "result not answered"),
  );
}

/**
 * Runs one accepted job: page, uploads, result, answer, and in any case the reset of its lane (fleet spec §3.1, §6.2).
 * Whatever is thrown becomes a failed result; only a failed lane reset rejects.
 */
export async function runJob(deps: RunJobDeps, job: AcceptedJob): Promise<void> {
  const { job_id, lease_token } = job.assignment;
  const story = createStory({
    clock: deps.clock,
    send: (entries) => void job.session.send({ type: "JobLog", job_id, lease_token, entries }),
  });
  const sink = deps.openSink(job, story);
  // Without its link the upload token is dead.
  const dropUploads = () => void (isLinkLost(job.signal) && sink.close());
  job.signal.addEventListener("abort", dropUploads, { once: true });
  try {
    await tellAndRun(deps, job, story, sink);
  } catch (err) {
    deps.log.error({ job_id, err }, "job run broke");
    story.end();
    if (!job.signal.aborted) job.session.send(resultOf(job, failure(errorMessage(err))));
  } finally {
    story.end();
    await sink.close();
    await job.hold.release();
  }
}
