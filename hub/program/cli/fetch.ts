import { FlotillaError, refusalOf } from "#shared/client/errors.ts";
import type { Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { counted, humanSize } from "#shared/kit/words.ts";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import type { Job, JobEvent } from "#shared/protocol/schema/job.ts";
import { EXIT, UsageError } from "./exit.ts";
import { followJob } from "./follow-job.ts";
import { formatTable, printable, type Terminal } from "./print.ts";
import { type Progress, startProgress } from "./progress.ts";
import { type SavedFiles, saveJob } from "./save-job.ts";

export interface FetchRequest {
  url: string;
  /** Slug of a preset; `options` override it. */
  preset: string | null;
  options: Record<string, unknown>;
  labels: Record<string, string>;
  out: string | null;
  json: boolean;
}

export interface FetchDeps {
  client: Http;
  terminal: Terminal;
  clock: Clock;
  /** Aborts on the first Ctrl-C: the job is cancelled. */
  signal: AbortSignal;
}

const CANCEL_MS = 10_000;

/** `key=value` of --option; the value is JSON where it reads as JSON (`1`, `true`, `null`), else the text itself. */
export function parseOption(raw: string): [string, unknown] {
  const equals = raw.indexOf("=");
  if (equals < 1) throw new UsageError(`--option: "${raw}" is not KEY=VALUE`);
  const value = raw.slice(equals + 1);
  try {
    return [raw.slice(0, equals), JSON.parse(value)];
  } catch {
    return [raw.slice(0, equals), value];
  }
}

/** `captured 58 of 58 bodies (100 %)`, with what is missing and why. */
export function captureLine(job: Job): string {
  const c = job.capture;
  if (!c) return "nothing was captured";
  const percent = Math.floor(c.ratio * 1000) / 10;
  const missing = [
    c.partial > 0 ? `${c.partial} partial` : "",
    c.lost > 0 ? `${c.lost} lost` : "",
    c.skipped > 0 ? `${c.skipped} skipped because of their size` : "",
  ].filter(Boolean);
  const reasons = Object.entries(c.reasons)
    .filter(([, n]) => n > 0)
    .map(([reason, n]) => `${reason} ${n}`);
  const line = [`captured ${c.captured} of ${c.seen} bodies (${percent} %)`, ...missing].join(", ");
  return reasons.length > 0 ? `${line} (${reasons.join(", ")})` : line;
}

export const assetTable = (assets: Asset[], width: number | null): string =>
  formatTable(
    [
      { title: "name", shrink: 16 },
      { title: "kind" },
      { title: "size", right: true },
      { title: "url", shrink: 16 },
    ],
    assets.map((a) => [
      a.name,
      a.partial ? `${a.kind} (partial)` : a.kind,
      humanSize(a.size),
      a.source_url,
    ]),
    width,
  );

const shellExit = (job: Job): number => (job.status === "completed" ? EXIT.ok : EXIT.failed);

function showEvent(progress: Progress, event: JobEvent): void {
  if (event.type !== "log") return;
  const { level, stage, message } = event.data as {
    level?: string;
    stage?: string;
    message?: string;
  };
  if (level !== "debug") progress.step(stage ?? "", message ?? "");
}

/** Submits; returns the job's id, whether the hub started it immediately or queued it (503, rules/jobs#at-capacity). */
async function submit(client: Http, request: FetchRequest, progress: Progress): Promise<string> {
  const { url, preset, options, labels } = request;
  const job = {
    url,
    options,
    ...(preset !== null && { preset }),
    // A hub of an earlier version knows no labels.
    ...(Object.keys(labels).length > 0 && { labels }),
  };
  try {
    return (await client.call("POST /jobs", { json: job })).job_id;
  } catch (err) {
    const queued = refusalOf(err, "POST /jobs", 503);
    if (!queued?.job_id) throw err;
    const why = queued.waiting_for?.detail ?? "it waits for a free lane";
    progress.note(`fleet at capacity: job ${queued.job_id} is queued: ${printable(why)}`);
    return queued.job_id;
  }
}

/** Cancels the job that nobody waits for any longer. @returns null, or why the hub refused */
const cancel = (client: Http, job_id: string): Promise<string | null> =>
  client.call("POST /jobs/{id}/cancel", { params: { id: job_id }, timeout_ms: CANCEL_MS }).then(
    () => null,
    (err) => {
      if (err instanceof FlotillaError && err.status !== 0) return err.message;
      throw err;
    },
  );

function report(terminal: Terminal, job: Job, assets: Asset[], saved: SavedFiles | null): void {
  if (assets.length > 0) terminal.out(`${assetTable(assets, terminal.width)}\n\n`);
  const seconds = job.duration_ms === null ? "" : ` in ${(job.duration_ms / 1000).toFixed(1)} s`;
  const http = job.http_status === null ? "" : `, HTTP ${job.http_status}`;
  terminal.out(
    `job ${job.job_id} ${job.status}${seconds}${http}: ${counted(assets.length, "asset")}, ${humanSize(job.asset_bytes)}\n`,
  );
  if (job.error) terminal.out(`error: ${printable(job.error)}\n`);
  if (job.capture) terminal.out(`${captureLine(job)}\n`);
  if (saved) terminal.out(`${counted(saved.files.length, "file")} written to ${saved.dir}\n`);
  for (const problem of saved?.problems ?? [])
    terminal.err(`not written: ${printable(`${problem.name}: ${problem.reason}`)}\n`);
}

/**
 * `flotilla fetch`: submits, follows, lists, writes.
 * @returns the exit code: 0 completed, 1 failed or cancelled (or a file could not be written), 130 after Ctrl-C.
 */
export async function runFetchCommand(deps: FetchDeps, request: FetchRequest): Promise<number> {
  const { client, terminal, clock, signal } = deps;
  const progress = startProgress(terminal, clock);
  try {
    const job_id = await submit(client, request, progress);
    progress.step("queued", `job ${job_id}`);
    const job = await followJob(
      client,
      job_id,
      (event) => showEvent(progress, event),
      clock,
      signal,
    );
    progress.end();
    if (!job) {
      const refused = await cancel(client, job_id);
      progress.note(`job ${job_id}${refused === null ? " cancelled" : `: ${refused}`}`);
      return EXIT.interrupted;
    }
    const of = { params: { id: job_id } };
    const { items: assets } = await client.call("GET /jobs/{id}/assets.json", of);
    const saved = request.out === null ? null : await saveJob(deps, job_id, assets, request.out);
    if (request.json) terminal.out(`${JSON.stringify({ job, assets, saved }, null, 2)}\n`);
    else report(terminal, job, assets, saved);
    return saved && saved.problems.length > 0 ? EXIT.failed : shellExit(job);
  } finally {
    progress.end();
  }
}
