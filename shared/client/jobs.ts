import { systemClock } from "#shared/kit/clock.ts";
import { FlotillaError } from "./errors.ts";
import { type EventOptions, followEvents } from "./events.ts";
import { backoffMs, type CallOptions, type Http, newKey, queryOf } from "./http.ts";
import type {
  Asset,
  Attempt,
  AttemptSummary,
  Job,
  JobEvent,
  JobList,
  JobListQuery,
  JobResult,
  LinkList,
  ScreenshotRequest,
  SubmitJobInput,
} from "./types.ts";

export interface SubmitOptions extends CallOptions {
  /** How long to keep waiting after 503; default 600,000. With 0 a job that is queued is returned as it is. */
  patience_ms?: number;
  idempotency_key?: string;
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

/** Jobs (rules/jobs#submit-a-job). */
export function jobCalls(http: Http) {
  const at = (job_id: string, rest = "") => `/jobs/${encodeURIComponent(job_id)}${rest}`;
  const get = (job_id: string, call?: CallOptions) => http.json<Job>("GET", at(job_id), call);

  /** Polls a job that has no lane yet: the hub runs it by itself, and a second POST would be a second job. */
  const leaveQueue = async (job_id: string, until: number, call: CallOptions): Promise<Job> => {
    for (let n = 0; ; n += 1) {
      const job = await get(job_id, call);
      const wait = Math.min(backoffMs(n, null), until - systemClock.now());
      if (job.status !== "queued" || wait <= 0 || call.signal?.aborted) return job;
      await systemClock.sleep(wait, call.signal);
    }
  };

  const submit = async (input: SubmitJobInput, options: SubmitOptions = {}): Promise<Job> => {
    const { patience_ms = SUBMIT_PATIENCE_MS, signal } = options;
    const until = systemClock.now() + patience_ms;
    const call = { timeout_ms: SUBMIT_MS, ...options };
    const headers = { "idempotency-key": options.idempotency_key ?? newKey() };
    return http.whileBusy({ patience_ms, signal }, async () => {
      try {
        return await http.json<Job>("POST", "/jobs", { ...call, json: input, headers });
      } catch (err) {
        const job_id = err instanceof FlotillaError && queuedJob(err);
        if (!job_id) throw err;
        return leaveQueue(job_id, until, { signal });
      }
    });
  };

  const wait = async (job_id: string, options: WaitOptions = {}): Promise<Job> => {
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
    return get(job_id);
  };

  return {
    /**
     * Submits a job and waits for a lane: running (or already ended), or still queued when `patience_ms` are over.
     * After a 503 it waits with backoff (rules/clients#waiting-out-capacity) and never creates a second job.
     */
    submit,
    get,
    /** One page, newest first; `next_cursor` is the `cursor` of the next. */
    list: (query: Partial<Omit<JobListQuery, "since" | "until">> = {}, call?: CallOptions) =>
      http.json<JobList>("GET", `/jobs?${queryOf(query)}`, call),
    cancel: (job_id: string, call?: CallOptions) =>
      http.json<Job>("POST", at(job_id, "/cancel"), call),
    delete: (job_id: string, call?: CallOptions) => http.json<null>("DELETE", at(job_id), call),
    result: (job_id: string, call?: CallOptions) =>
      http.json<JobResult>("GET", at(job_id, "/result"), call),
    assets: async (job_id: string, call?: CallOptions) =>
      (await http.json<{ items: Asset[] }>("GET", at(job_id, "/assets.json"), call)).items,
    links: async (job_id: string, call?: CallOptions) =>
      (await http.json<LinkList>("GET", at(job_id, "/links.json"), call)).links,
    /** An asset's body, streamed. */
    download: (job_id: string, name: string, call?: CallOptions) =>
      http.open("GET", at(job_id, `/assets/${encodeURIComponent(name)}`), {
        timeout_ms: BODY_MS,
        ...call,
      }),
    /** A file that is not an asset, streamed; 404 while it does not exist. */
    file: (
      job_id: string,
      name: "page.html" | "log.txt" | "links.json" | "har.json" | "assets.zip",
      call?: CallOptions,
    ) => http.open("GET", at(job_id, `/${name}`), { timeout_ms: BODY_MS, ...call }),
    /** What a codegen-loop or rerun job tried, in order, without long texts. */
    attempts: async (job_id: string, call?: CallOptions) =>
      (await http.json<{ attempts: AttemptSummary[] }>("GET", at(job_id, "/attempts"), call))
        .attempts,
    /** One attempt with its script, streams and verdict; `n` counts from 1. */
    attempt: (job_id: string, n: number, call?: CallOptions) =>
      http.json<Attempt>("GET", at(job_id, `/attempts/${n}`), call),
    /** A screenshot of the page as it is now, stored as an asset of the job; 409 when no lane is bound to it. */
    screenshot: (
      job_id: string,
      request: Partial<ScreenshotRequest> = {},
      call: CallOptions = {},
    ) =>
      http.json<Asset>("POST", at(job_id, "/screenshot/capture"), {
        timeout_ms: BODY_MS,
        ...call,
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

/** The id of the job that a 503 left in the queue. */
function queuedJob(err: FlotillaError): string | null {
  const job_id = (err.body as { job_id?: unknown } | null)?.job_id;
  return err.status === 503 && typeof job_id === "string" ? job_id : null;
}
