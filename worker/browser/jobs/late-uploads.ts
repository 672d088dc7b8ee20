import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { counted, humanSize } from "#shared/kit/words.ts";
import type { AcceptedJob } from "#worker/browser/jobs/assignments.ts";
import type { JobStory } from "#worker/link/story.ts";
import type { HttpSink } from "#worker/upload/http-sink.ts";
import type { KeptPlace, KeptUploads } from "#worker/upload/kept.ts";
import { RETRY_MS } from "#worker/upload/put.ts";

export interface LateUploadsDeps {
  log: Log;
  kept: KeptUploads;
  /** How long bodies are kept while the hub stores nothing. */
  upload_wait_ms: number;
}

/** Whether the job may end without its lane: nobody uses its browser, and its hub supports such jobs. */
export function canLeaveLane(
  upload_wait_ms: number,
  { options, attached, session }: Pick<AcceptedJob, "options" | "attached" | "session">,
): boolean {
  if ("invalid" in options || options.keep_session || attached) return false;
  return upload_wait_ms > 0 && session.hub.late_uploads === true;
}

/** What was kept of a run that is over. `leaves`: its lane can be released. */
export interface KeptRun {
  place: KeptPlace | null;
  leaves: boolean;
}

/**
 * Once the run is over and the hub stores nothing: moves what is not stored out of the run's directory, so that the
 * lane can be released. A job that must stay in its lane soon gives up what the hub does not accept.
 */
export function keepUploads(
  deps: LateUploadsDeps,
  job: AcceptedJob,
  sink: HttpSink,
  story: JobStory,
): KeptRun {
  const waiting = job.signal.aborted ? null : sink.waiting();
  const may_leave = waiting && canLeaveLane(deps.upload_wait_ms, job);
  const kept = may_leave ? takePlace(deps, waiting.bytes, sink) : null;
  const { place = null, leaves = false } = kept ?? {};
  const patience_ms = leaves ? deps.upload_wait_ms : RETRY_MS;
  sink.giveUpAfter(patience_ms);
  if (waiting) {
    const what = `${counted(waiting.count, "file")}, ${humanSize(waiting.bytes)}, ${waiting.count === 1 ? "waits" : "wait"} ${patience_ms / 1_000} s at most`;
    const lane = leaves ? "the lane is given back" : "the lane is kept";
    story.log("warn", "upload", `${what} for the hub's store; ${lane}: ${waiting.reason}`);
  }
  return { place, leaves };
}

function takePlace(deps: LateUploadsDeps, bytes: number, sink: HttpSink): KeptRun {
  let place: KeptPlace | null = null;
  try {
    place = deps.kept.take(bytes);
    if (place) sink.moveTo(place.dir);
    return { place, leaves: place !== null };
  } catch (err) {
    deps.log.warn({ err: errorMessage(err) }, "bodies cannot be kept outside the lanes");
    // What has already been moved is sent from there.
    return { place, leaves: false };
  }
}
