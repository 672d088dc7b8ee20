import { systemClock } from "#shared/kit/clock.ts";
import { again, backoffMs, isBusy } from "./again.ts";
import type { CallBody } from "./body.ts";
import type {
  Asset,
  Attempt,
  AttemptSummary,
  ExportRecordingInput,
  Job,
  JobChangesMade,
  JobComparison,
  JobDocument,
  JobEvent,
  JobFailureList,
  JobFailureQuery,
  JobList,
  JobListQuery,
  JobResult,
  JobSelection,
  LabelChanges,
  LinkList,
  Recording,
  RecordingExport,
  ScreenshotRequest,
  SubmitJobInput,
  VideoFormat,
} from "./client-types.ts";
import { FlotillaError, refusalOf } from "./errors.ts";
import { type EventOptions, followEvents } from "./events.ts";
import { type CallOptions, type Http, newKey } from "./http.ts";

export interface SubmitOptions extends CallOptions {
  /** How long to keep waiting after 503; default 600,000. With 0 a queued job is returned immediately. */
  patience_ms?: number;
  idempotency_key?: string;
  /** The span that the job happens within, as W3C Trace Context writes it. */
  traceparent?: string;
}

export interface WaitOptions {
  signal?: AbortSignal;
  /** @throws FlotillaError when the job has not ended by then; default: no limit. */
  timeout_ms?: number;
  onEvent?: (event: JobEvent) => void;
}

const SUBMIT_MS = 60_000;
const SUBMIT_PATIENCE_MS = 600_000;
/** A body may take long to arrive, so only its headers have a deadline. */
const BODY_MS = 60_000;

/** An archive may be long, and the link slow. */
const IMPORT_MS = 1_800_000;
/** One call works for 20 s, and its last job may take a while. */
const ACT_MS = 120_000;

/** Two pages are read, after others that wait for their turn. */
const COMPARISON_MS = 180_000;

const of = (job_id: string) => ({ params: { id: job_id } });

const getJob = (http: Http, job_id: string, call?: CallOptions): Promise<Job> =>
  http.call("GET /jobs/{id}", { ...call, ...of(job_id) });

/** Polls a job that has no lane yet: the hub runs it by itself, and a second POST would be a second job. */
async function leaveQueue(
  http: Http,
  job_id: string,
  until: number,
  call: CallOptions,
): Promise<Job> {
  for (let n = 0; ; n += 1) {
    const job = await getJob(http, job_id, call);
    const wait = Math.min(backoffMs(n, null), until - systemClock.now());
    if (job.status !== "queued" || wait <= 0 || call.signal?.aborted) return job;
    await systemClock.sleep(wait, call.signal);
  }
}

async function submitJob(
  http: Http,
  input: SubmitJobInput,
  options: SubmitOptions = {},
): Promise<Job> {
  const { patience_ms = SUBMIT_PATIENCE_MS, signal } = options;
  const until = systemClock.now() + patience_ms;
  const call = { timeout_ms: SUBMIT_MS, ...options };
  const { traceparent } = options;
  const key = options.idempotency_key ?? newKey();
  const headers = { "idempotency-key": key, ...(traceparent && { traceparent }) };
  return again({ patience_ms, signal }, isBusy, async () => {
    try {
      return await http.call("POST /jobs", { ...call, json: input, headers });
    } catch (err) {
      // A job for which no lane was free stays in the queue.
      const job_id = refusalOf(err, "POST /jobs", 503)?.job_id;
      if (!job_id) throw err;
      return leaveQueue(http, job_id, until, { signal });
    }
  });
}

async function waitForJob(http: Http, job_id: string, options: WaitOptions = {}): Promise<Job> {
  const { timeout_ms, onEvent } = options;
  const late = timeout_ms === undefined ? undefined : AbortSignal.timeout(timeout_ms);
  const signals = [options.signal, late].filter((one) => one !== undefined);
  const signal = AbortSignal.any(signals);
  for await (const event of followEvents(http, job_id, { signal })) onEvent?.(event);
  if (signal.aborted)
    throw new FlotillaError(
      late?.aborted
        ? `job ${job_id} did not end within ${timeout_ms} ms`
        : `waiting for job ${job_id} was aborted`,
      { cause: signal.reason },
    );
  return getJob(http, job_id);
}

/** What a job brought back. */
function resultCalls(http: Http) {
  return {
    result: (job_id: string, call?: CallOptions): Promise<JobResult> =>
      http.call("GET /jobs/{id}/result", { ...call, ...of(job_id) }),
    assets: async (job_id: string, call?: CallOptions): Promise<Asset[]> =>
      (await http.call("GET /jobs/{id}/assets.json", { ...call, ...of(job_id) })).items,
    links: async (job_id: string, call?: CallOptions): Promise<LinkList["links"]> =>
      (await http.call("GET /jobs/{id}/links.json", { ...call, ...of(job_id) })).links,
    /** What changed from one completed job to another: the page's title and text, and the assets. */
    compare: (before: string, after: string, call?: CallOptions): Promise<JobComparison> =>
      http.call("GET /jobs/{id}/diff/{other}", {
        timeout_ms: COMPARISON_MS,
        ...call,
        params: { id: before, other: after },
      }),
    /** What is recorded of the job: its state, length and chunks. */
    recording: (job_id: string, call?: CallOptions): Promise<Recording> =>
      http.call("GET /jobs/{id}/recording", { ...call, ...of(job_id) }),
    /** Asks for a video of the recording, which the hub makes in the background. */
    exportRecording: (
      job_id: string,
      json: ExportRecordingInput,
      call?: CallOptions,
    ): Promise<RecordingExport> =>
      http.call("POST /jobs/{id}/recording/exports", { ...call, ...of(job_id), json }),
    /** The videos of the recording: those that are made, on their way, or have failed. */
    recordingExports: async (job_id: string, call?: CallOptions): Promise<RecordingExport[]> =>
      (await http.call("GET /jobs/{id}/recording/exports", { ...call, ...of(job_id) })).items,
    /** A video of the recording, streamed; 404 until it was asked for, 409 while it is made. */
    recordingVideo: (job_id: string, format: VideoFormat, call?: CallOptions): Promise<Response> =>
      http.open(`GET /jobs/{id}/recording/video.${format}`, {
        timeout_ms: BODY_MS,
        ...call,
        ...of(job_id),
      }),
    /** An asset's body, streamed. */
    download: (job_id: string, name: string, call?: CallOptions): Promise<Response> =>
      http.open("GET /jobs/{id}/assets/{name}", {
        timeout_ms: BODY_MS,
        ...call,
        params: { id: job_id, name },
      }),
    /** Up to 50 jobs as one WACZ file, streamed. */
    archive: (job_ids: readonly string[], call?: CallOptions): Promise<Response> =>
      http.open("GET /archive.wacz", {
        timeout_ms: BODY_MS,
        ...call,
        query: { jobs: job_ids.join(",") },
      }),
    /** All completed jobs with a label (`key:value`) as one WACZ file, streamed, the oldest first. */
    labelledArchive: (label: string, call?: CallOptions): Promise<Response> =>
      http.open("GET /archive.wacz", { timeout_ms: BODY_MS, ...call, query: { label: [label] } }),
    /** A file that is not an asset, streamed; 404 while it does not exist. */
    file: (job_id: string, name: JobDocument, call?: CallOptions): Promise<Response> =>
      http.open(`GET /jobs/{id}/${name}`, { timeout_ms: BODY_MS, ...call, ...of(job_id) }),
  };
}

/** Jobs (rules/jobs#submit-a-job). */
export function jobCalls(http: Http) {
  const submit = (input: SubmitJobInput, options?: SubmitOptions): Promise<Job> =>
    submitJob(http, input, options);
  const wait = (job_id: string, options?: WaitOptions): Promise<Job> =>
    waitForJob(http, job_id, options);
  return {
    ...resultCalls(http),
    /**
     * Submits a job and waits for a lane: running (or already ended), or still queued when `patience_ms` are over.
     * After a 503 it waits with backoff (rules/clients#waiting-out-capacity) and never creates a second job.
     */
    submit,
    get: (job_id: string, call?: CallOptions): Promise<Job> => getJob(http, job_id, call),
    /** One page, newest first; `next_cursor` is the `cursor` of the next. */
    list: (
      query: Partial<Omit<JobListQuery, "since" | "until">> & {
        /** `key:value`, or `key` for any value; with several a job must have all of them. */
        label?: string | readonly string[];
      } = {},
      call?: CallOptions,
    ): Promise<JobList> => http.call("GET /jobs", { ...call, query }),
    /** Failed jobs in groups, of all hosts or one. */
    failures: (query: JobFailureQuery = {}, call?: CallOptions): Promise<JobFailureList> =>
      http.call("GET /jobs/failures", { ...call, query }),
    /**
     * Submits again, cancels or deletes the jobs that a filter finds; with `dry_run` it says how many it would be. A long
     * call ends with `complete: false`: the same call goes on.
     */
    actOn: (
      action: "retry" | "cancel" | "delete",
      filter: JobSelection,
      call?: CallOptions,
    ): Promise<JobChangesMade> =>
      http.call(`POST /jobs/${action}`, { timeout_ms: ACT_MS, ...call, json: filter }),
    /** A completed job made of a web archive: a WACZ file, or a WARC file compressed or not. */
    import: (archive: CallBody, call: CallOptions = {}): Promise<Job> =>
      http.call("POST /jobs/import", {
        timeout_ms: IMPORT_MS,
        ...call,
        body: archive,
        headers: { "content-type": "application/octet-stream" },
      }),
    cancel: (job_id: string, call?: CallOptions): Promise<Job> =>
      http.call("POST /jobs/{id}/cancel", { ...call, ...of(job_id) }),
    /** Sets the labels that have a value, removes those that are null and leaves the others. */
    setLabels: (job_id: string, labels: LabelChanges, call?: CallOptions): Promise<Job> =>
      http.call("PATCH /jobs/{id}", { ...call, ...of(job_id), json: { labels } }),
    delete: (job_id: string, call?: CallOptions): Promise<null> =>
      http.call("DELETE /jobs/{id}", { ...call, ...of(job_id) }),
    /** What a codegen-loop or rerun job tried, in order, without long texts. */
    attempts: async (job_id: string, call?: CallOptions): Promise<AttemptSummary[]> =>
      (await http.call("GET /jobs/{id}/attempts", { ...call, ...of(job_id) })).attempts,
    /** One attempt with its script, streams and verdict; `n` counts from 1. */
    attempt: (job_id: string, n: number, call?: CallOptions): Promise<Attempt> =>
      http.call("GET /jobs/{id}/attempts/{n}", { ...call, params: { id: job_id, n } }),
    /** A screenshot of the page as it is now, stored as an asset of the job; 409 when no lane is bound to it. */
    screenshot: (
      job_id: string,
      request: Partial<ScreenshotRequest> = {},
      call: CallOptions = {},
    ): Promise<Asset> =>
      http.call("POST /jobs/{id}/screenshot/capture", {
        timeout_ms: BODY_MS,
        ...call,
        ...of(job_id),
        json: request,
      }),
    events: (job_id: string, options?: EventOptions) => followEvents(http, job_id, options),
    /** The record of the job once it has ended, however it ended. */
    wait,
    /** `submit` and `wait` in one. */
    run: async (input: SubmitJobInput, options: SubmitOptions & WaitOptions = {}): Promise<Job> => {
      const { timeout_ms, ...submitting } = options;
      const job = await submit(input, submitting);
      return wait(job.job_id, options);
    },
  };
}

export type JobCalls = ReturnType<typeof jobCalls>;
