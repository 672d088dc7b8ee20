import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Tracer } from "#shared/kit/tracing/tracer.ts";
import { counted, humanSize } from "#shared/kit/words.ts";
import type { WorkerResult } from "#shared/protocol/link/messages.ts";
import type { CaptureReport } from "#shared/protocol/schema/job.ts";
import { Box, type RecordingEvent } from "#shared/recording/events.ts";
import { type AcceptedJob, RunStopped } from "#worker/browser/jobs/assignments.ts";
import { keepUploads, type LateUploadsDeps } from "#worker/browser/jobs/late-uploads.ts";
import type { JobStory } from "#worker/link/story.ts";
import { type BatchedStory, clip, createStory } from "#worker/link/story.ts";
import type { FailedUpload } from "#worker/upload/entry.ts";
import type { HttpSink } from "#worker/upload/http-sink.ts";
import type { KeptPlace } from "#worker/upload/kept.ts";
import type { Flushed } from "#worker/upload/tally.ts";
import { withoutFailed } from "../fetch/final-state.ts";
import type { JobOutcome } from "../lanes/lane-browser.ts";
import type { RunRecorder } from "../recording/recorder.ts";
import { type Live, SessionEnd } from "../session/live.ts";
import { type JobTrace, openJobTrace } from "./job-trace.ts";
import { failure, type RunPageDeps, runPage } from "./run-page.ts";

/** How long to wait for a stopped run's partial uploads. */
const STOPPED_FLUSH_MS = 2_000;
/** Uploads of a finished run: 4 GiB over a slow 50 Mbit/s network take 690 s. */
const FLUSH_MS = 900_000;
/** The hub answers a result at once; a lane does not wait for its next job longer than this. */
const ACK_MS = 5_000;

export interface RunJobDeps extends RunPageDeps, LateUploadsDeps {
  openSink(job: AcceptedJob, story: JobStory): HttpSink;
  /** Records the job from now on; null when it is not to be recorded. */
  recordJob(job: AcceptedJob, live: Live): RunRecorder | null;
  /** Records the session that the job leaves open. */
  recordKept(job: AcceptedJob, live: Live): void;
  /** The session of the job: a new one, or the live one that it is attached to. */
  sessionOf(job: AcceptedJob): Live;
  /** Where the spans of jobs go; absent where no collector is named. */
  tracer?: Tracer | undefined;
  /** Counts jobs as they end. */
  jobEnded?: ((end: JobEnd) => void) | undefined;
}

/** How a job ended, and how long it took with its uploads. `stopped`: it has no result. */
interface JobEnd {
  status: JobOutcome["status"] | "stopped";
  ms: number;
  capture: CaptureReport | null;
}

const isLinkLost = (signal: AbortSignal): boolean =>
  signal.reason instanceof RunStopped && signal.reason.kind === "link_lost";

/**
 * Moves bodies whose upload failed from `captured` (or `partial`) to `lost`, so that a report never claims what the hub
 * does not have. A partial body's cause is already counted.
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

/** Waits for uploads as long as that makes sense: not at all without a link, 2 s for a stopped run. */
async function flushUploads(
  clock: Clock,
  job: AcceptedJob,
  sink: HttpSink,
  most_ms: number,
): Promise<Flushed> {
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
  void giveUpAfter(most_ms);
  try {
    return await sink.finish(late.signal);
  } finally {
    over.abort();
    job.signal.removeEventListener("abort", stopped);
  }
}

/** Logs what became of the uploads and corrects the outcome accordingly. */
function settleUploads(
  outcome: JobOutcome,
  flushed: Flushed,
  ms: number,
  story: JobStory,
): JobOutcome {
  const { stored, failed } = flushed;
  const size = humanSize(flushed.bytes);
  if (stored + failed.length === 0) return outcome; // the run has waited for its uploads itself
  if (failed.length === 0)
    story.log("info", "upload", `${counted(stored, "file")} stored, ${size}`, { ms });
  else {
    const why = [...new Set(failed.map(({ reason }) => reason))].slice(0, 3).join("; ");
    const text = `${counted(stored, "file")} stored, ${size}; ${failed.length} were not: ${why}`;
    story.log("warn", "upload", text, {
      ms,
      failed: failed.slice(0, 20).map(({ name, reason }) => ({ name, reason })),
    });
  }
  const { capture, final_state } = outcome;
  const missing = failed.map(({ name }) => name);
  return {
    ...outcome,
    capture: capture && correctCapture(capture, failed),
    ...(final_state && { final_state: withoutFailed(final_state, missing) }),
  };
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
    final_state: outcome.final_state,
  };
}

/** One job on its way to its result. */
interface JobOnLane {
  live: Live;
  story: BatchedStory;
  sink: HttpSink;
  /** From now on, whatever becomes of the lane, bodies that are not stored yet are kept here. */
  keepIn(place: KeptPlace | null): void;
  /** Ends its session and resets the lane; the job goes on. */
  leaveLane(): void;
  recorder: RunRecorder | null;
  trace: JobTrace | null;
}

/** The hub takes the rest of a recording after its job's result, but not its beginning. */
const BEGUN_MS = 1_000;

const recordedLine = (
  stage: string,
  text: string,
  { step, box }: Record<string, unknown> = {},
): RecordingEvent => {
  if (step !== "done" && step !== "failed") return { type: "stage", stage, text };
  const place = Box.safeParse(box).data;
  return { type: "step", of: "recipe", text, outcome: step, ...(place && { box: place }) };
};

/** The job's log, of which a recording has every line as well; a line of a recipe is a step there. */
const recordedStory = (story: BatchedStory, recorder: RunRecorder | null): BatchedStory =>
  recorder === null
    ? story
    : {
        ...story,
        log: (level, stage, message, fields) => {
          story.log(level, stage, message, fields);
          recorder.tell(recordedLine(stage, message, fields));
        },
      };

/** @returns whether the hub accepted the result. */
async function tellAndRun(
  deps: RunJobDeps,
  job: AcceptedJob,
  { live, story, sink, keepIn, leaveLane, recorder, trace }: JobOnLane,
): Promise<boolean> {
  const { clock } = deps;
  const since = clock.monotonic();
  const { lane_idx } = job.hold;
  const ran = await runPage(deps, job, live, story, sink);
  const uploading_since = clock.monotonic();
  const { place, leaves } = keepUploads(deps, job, sink, story);
  keepIn(place);
  if (leaves) leaveLane();
  const most_ms = FLUSH_MS + (leaves ? deps.upload_wait_ms : 0);
  const flushed = await flushUploads(clock, job, sink, most_ms);
  const outcome = settleUploads(ran, flushed, clock.monotonic() - uploading_since, story);
  if (job.signal.aborted) {
    // A stopped run sends no result: the hub has already ended the job, or would reject the result.
    story.log("warn", "done", `stopped: ${errorMessage(job.signal.reason)}`);
    trace?.end("the job was stopped");
    deps.jobEnded?.({ status: "stopped", ms: clock.monotonic() - since, capture: null });
    return false;
  }
  const ms = clock.monotonic() - since;
  trace?.end(outcome.status === "failed" ? "the job failed" : null);
  deps.jobEnded?.({ status: outcome.status, ms, capture: outcome.capture });
  story.end();
  if (recorder)
    await withDeadline("a recording's beginning", BEGUN_MS, recorder.begun, clock).catch(() => {});
  job.session.send(resultOf(job, outcome));
  deps.log.info(
    { job_id: job.assignment.job_id, lane_idx, status: outcome.status, ms },
    "job ended",
  );
  const gone = new Promise<boolean>((resolve) => {
    if (job.session.signal.aborted) return resolve(false);
    job.signal.addEventListener("abort", () => resolve(false), { once: true });
  });
  const answered = Promise.race([job.acknowledged, gone]);
  return answerTo(job, answered, clock).catch((err) => {
    const { job_id } = job.assignment;
    deps.log.warn({ job_id, err: errorMessage(err) }, "result not answered");
    return false;
  });
}

/** Waits for the hub's answer; starts over after the link was cut, because the result is then sent again. */
async function answerTo(
  { session }: AcceptedJob,
  answered: Promise<boolean>,
  clock: Clock,
): Promise<boolean> {
  for (;;) {
    const { changes } = session;
    try {
      return await withDeadline("waiting for HubResultAck", ACK_MS, answered, clock);
    } catch (err) {
      if (!session.is_cut && session.changes === changes) throw err;
    }
  }
}

/**
 * `keep_session` (rules/jobs#keep-the-session): from here on the browser belongs to a person, until the session
 * ends.
 */
async function keepOpen(deps: RunJobDeps, job: AcceptedJob, live: Live): Promise<void> {
  const { session_id, lane_idx } = live;
  if ("invalid" in job.options || !job.options.keep_session || job.attached) return;
  if (live.signal.aborted || !live.canGoOn()) return;
  deps.recordKept(job, live);
  // The result is sent: whatever goes wrong from here on ends the session and does not affect the job.
  await live.takeOver().catch((err) => live.end(new SessionEnd(errorMessage(err))));
  deps.log.info({ session_id, lane_idx }, "session kept");
  await live.ended;
  deps.log.info({ session_id, reason: errorMessage(live.signal.reason) }, "session ended");
  const reason = errorMessage(live.signal.reason).slice(0, 1_000);
  job.session.send({ type: "SessionEnded", session_id, lease_token: live.lease_token, reason });
}

/**
 * Runs one accepted job: page, uploads, result, answer, and always the reset of its lane
 * (rules/worker-link#an-assignment-on-the-worker). Every error becomes a failed result; only a failed lane reset
 * rejects.
 */
export async function runJob(deps: RunJobDeps, job: AcceptedJob): Promise<void> {
  const { job_id, lease_token } = job.assignment;
  const live = deps.sessionOf(job);
  const recorder = deps.recordJob(job, live);
  const trace = deps.tracer ? openJobTrace(deps.tracer, job.assignment) : null;
  const told = createStory({
    clock: deps.clock,
    send: (entries) => void job.session.send({ type: "JobLog", job_id, lease_token, entries }),
  });
  const story = recordedStory(trace?.follow(told) ?? told, recorder);
  const sink = deps.openSink(job, story);
  // The session's end is the run's end, and a stopped run ends the session: its lane is reset.
  const onSessionEnd = () =>
    job.stop(new RunStopped("cancelled", errorMessage(live.signal.reason)));
  live.signal.addEventListener("abort", onSessionEnd, { once: true });
  const onStop = () => live.end(new SessionEnd(errorMessage(job.signal.reason)));
  // Without its link the upload token is useless.
  const dropUploads = () => void (isLinkLost(job.signal) && sink.close());
  job.signal.addEventListener("abort", dropUploads, { once: true });
  let place: KeptPlace | null = null;
  const keepIn = (its: KeptPlace | null) => {
    place = its;
  };
  const leaveLane = () => {
    job.session.send({ type: "JobUploading", job_id, lease_token });
    live.signal.removeEventListener("abort", onSessionEnd);
    live.end(new SessionEnd("its page is closed; what it captured is still being stored"));
    void job.hold.release().catch((err) => deps.log.error({ job_id, err }, "lane not released"));
  };
  try {
    const on_lane = { live, story, sink, keepIn, leaveLane, recorder, trace };
    const taken = await tellAndRun(deps, job, on_lane);
    void recorder?.end("ended");
    job.signal.addEventListener("abort", onStop, { once: true });
    if (job.signal.aborted) onStop();
    if (taken) await keepOpen(deps, job, live);
  } catch (err) {
    deps.log.error({ job_id, err }, "job run broke");
    trace?.end("the run broke");
    story.end();
    if (!job.signal.aborted) job.session.send(resultOf(job, failure(errorMessage(err))));
  } finally {
    void recorder?.end(job.signal.aborted ? errorMessage(job.signal.reason) : "ended");
    story.end();
    live.signal.removeEventListener("abort", onSessionEnd);
    job.signal.removeEventListener("abort", onStop);
    if (!job.attached) live.end(new SessionEnd("its job has ended"));
    await sink.close();
    await (place as KeptPlace | null)?.leave();
    await job.hold.release();
  }
}
