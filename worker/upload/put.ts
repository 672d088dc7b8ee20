import { retryWait } from "#shared/kit/backoff.ts";
import { type Clock, DeadlineError } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { fetchHub } from "#shared/protocol/trust.ts";
import { SpoolError, type UploadBody } from "./body.ts";
import { type Outage, reasonOfOutage } from "./outage.ts";

/** An attempt is given up when the hub neither takes a byte nor answers for this long. */
const STALL_MS = 30_000;
/** A hub may take the last byte into its buffers long before the whole body is on its disk. */
const SLOW_DISK_BYTES_PER_MS = 20_000;
/** How long to retry, counted from the first failure. */
export const RETRY_MS = 30_000;
const WAIT_MS = { first: 200, most: 5_000 };
/** Each attempt may send a body in vain, for example to a disk that is full for an hour. */
const PATIENT_WAIT_MS = { first: 200, most: 15_000 };
/** A checksum that fails this often is not the network's doing. */
const CHECKSUM_TRIES = 4;

/** One request with its destination; a retry has the same names and checksums, so nothing is ever stored twice. */
export interface Upload {
  /** PUT when absent. */
  method?: "POST";
  url: string;
  headers: Record<string, string>;
  size: number;
  open(): Promise<UploadBody>;
  /** Result for the text of a 200. */
  accept(text: string): Attempt;
  /** Result for an answer that is none of the usual ones; given up when absent. */
  refused?: (status: number) => UploadEnd;
  /** Result for any answer, when the server is not a hub. */
  judge?: (status: number, text: string) => Attempt;
}

/** `stop`: nothing more of this job will be accepted (lease or token gone). */
export type UploadEnd =
  | { kind: "stored" }
  | { kind: "failed"; reason: string }
  | { kind: "stop"; reason: string };

export interface UploadDeps {
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  /** True while waiting for the hub: that time does not count, and none of its answers ends anything. */
  isHubAway?: () => boolean;
  /** Called before each wait of this upload's own. */
  onRetry(reason: string, wait_ms: number): void;
  /** Shared by the job's uploads. */
  outage: Outage;
}

/**
 * `outage`: the hub stores nothing now, whatever is sent. `stop`: if that continues, nothing more of this job will be
 * accepted.
 */
export type Attempt =
  | UploadEnd
  | { kind: "retry"; reason: string; checksum?: boolean; outage?: boolean; stop?: boolean };

const retry = (reason: string, checksum = false): Attempt => ({ kind: "retry", reason, checksum });

/** Judges the answer to one body whose checksum is known. */
export const acceptChecksum =
  (expected: string) =>
  (text: string): Attempt => {
    const sha256 = (JSON.parse(text) as { sha256?: unknown } | null)?.sha256;
    if (sha256 === expected) return { kind: "stored" };
    return retry(`the hub stored checksum ${String(sha256).slice(0, 64)}`, true);
  };

async function readAnswer(response: Response, upload: Upload): Promise<Attempt> {
  const text = await response.text();
  const said = text.slice(0, 200);
  const { status } = response;
  if (upload.judge) return upload.judge(status, said);
  if (status === 200) return upload.accept(text);
  if (status === 409) return { kind: "stop", reason: "stale lease" };
  // The token ends with the link, and the job with both: while the job runs, another hub must have said so.
  if (status === 401) return { kind: "retry", reason: "upload token refused", stop: true };
  const outage = reasonOfOutage(status, text);
  if (outage !== null) return { kind: "retry", reason: outage, outage: true };
  if (status >= 500 || status === 408 || status === 429) return retry(`HTTP ${status}: ${said}`);
  if (upload.refused) return upload.refused(status);
  if (status === 413) return { kind: "failed", reason: "too large for the hub" };
  if (status === 422) return retry(`refused: ${said}`, true);
  return { kind: "failed", reason: `HTTP ${status}: ${said}` };
}

/** Aborts an attempt that makes no progress. */
async function watchProgress(
  clock: Clock,
  body: UploadBody,
  size: number,
  attempt: AbortController,
  over: AbortSignal,
): Promise<void> {
  const stall_ms = STALL_MS + Math.floor(size / SLOW_DISK_BYTES_PER_MS);
  for (let seen = -1; !over.aborted; ) {
    const now = body.sent();
    if (now === seen) return attempt.abort(new DeadlineError("upload progress", stall_ms));
    seen = now;
    await clock.sleep(stall_ms, over);
  }
}

/** One try; never rejects. */
export async function attemptUpload(deps: UploadDeps, upload: Upload): Promise<Attempt> {
  const attempt = new AbortController();
  const over = new AbortController();
  const stop = () => attempt.abort(deps.signal.reason);
  deps.signal.addEventListener("abort", stop, { once: true });
  let body: UploadBody | null = null;
  try {
    body = await upload.open();
    void watchProgress(deps.clock, body, upload.size, attempt, over.signal);
    const response = await (upload.judge ? fetch : fetchHub)(upload.url, {
      method: upload.method ?? "PUT",
      headers: { ...upload.headers, "content-length": String(upload.size) },
      body: body.content,
      redirect: "manual",
      signal: attempt.signal,
    });
    return await readAnswer(response, upload);
  } catch (err) {
    if (err instanceof SpoolError) return { kind: "failed", reason: err.message };
    return retry(errorMessage(attempt.signal.reason ?? err));
  } finally {
    over.abort();
    deps.signal.removeEventListener("abort", stop);
    await body?.close();
  }
}

/** Sends one request, with retries; never rejects. Ends early as `failed` when the signal aborts. */
export async function putUpload(deps: UploadDeps, upload: Upload): Promise<UploadEnd> {
  const { clock, outage } = deps;
  /** Since when it fails by itself, and since when the hub has stored nothing. */
  let failing_since: number | null = null;
  let refused_since: number | null = null;
  let checksums = 0;
  for (let failures = 0; !deps.signal.aborted; failures += 1) {
    const said = await attemptUpload(deps, upload);
    const is_away = deps.isHubAway?.() === true;
    // A restarted hub does not know the token until the worker has registered again.
    const end = is_away && said.kind === "stop" ? retry(said.reason) : said;
    if (end.kind === "stored") outage.stored();
    if (end.kind !== "retry") return end;
    if (deps.signal.aborted) break;
    checksums += end.checksum ? 1 : 0;
    if (end.outage) outage.refused(end.reason);
    const now = clock.monotonic();
    // A hub that says that it stores nothing has been reached.
    failing_since = end.outage || is_away ? null : (failing_since ?? now);
    if (is_away) refused_since = null;
    else if (end.outage) refused_since ??= outage.since ?? now;
    const own_limit = (failing_since ?? refused_since ?? now) + RETRY_MS;
    const limit = end.outage ? (outage.give_up_at ?? own_limit) : own_limit;
    const is_patient = end.outage && outage.give_up_at !== null;
    const wait = retryWait(failures, is_patient ? PATIENT_WAIT_MS : WAIT_MS, deps.random());
    if (now + wait > limit || checksums >= CHECKSUM_TRIES)
      return { kind: end.stop ? "stop" : "failed", reason: end.reason };
    if (!end.outage) deps.onRetry(end.reason, wait);
    await clock.sleep(wait, deps.signal);
  }
  return { kind: "failed", reason: errorMessage(deps.signal.reason) };
}
