import { rename, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { assetKind } from "#shared/archive/asset-names.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import { humanSize, limitText } from "#shared/kit/words.ts";
import type { Traffic } from "#worker/egress/gate.ts";
import type { JobRun } from "../lanes/lane-browser.ts";
import { hashFile } from "../record/coverage.ts";
import type { Recorder } from "../record/recorder.ts";
import { findCandidates } from "./candidates.ts";
import { type BrowserCookie, readCookies } from "./cookies.ts";
import { downloadStream } from "./download.ts";
import { openVideoGate, type VideoGate } from "./gate.ts";
import { type Finding, inspectCandidates } from "./inspect.ts";
import { request } from "./request.ts";
import { INSTALL_TOOLS } from "./tools.ts";
import { type Candidate, VideoError, type VideoSettings } from "./video-settings.ts";

export interface VideoJob {
  run: JobRun;
  recorder: Pick<Recorder, "trace" | "isWhole" | "takeName">;
  /** Title of the page, for the files' names. */
  title: string | null;
  settings: VideoSettings;
  signal: AbortSignal;
}

/** `protected`: videos behind DRM, which are reported and skipped. */
export interface VideoReport {
  stored: number;
  protected: number;
  /** A sentence for each video that could not be downloaded. */
  failures: string[];
  /** Bytes of all downloads; null if there were none. */
  traffic: Traffic | null;
}

const PROGRESS_EVERY_MS = 1_000;

const shortUrl = (url: string): string => hideCredentials(url).slice(0, 300);

/**
 * Finds the videos of a page in its network trace, downloads each into one playable file and hands it to the sink as an
 * asset that is `refetched` (rules/capture#videos). One after the other; bounded in number, bytes and
 * time; leaves nothing behind, however it ends.
 * @throws the signal's reason when it aborts.
 */
export async function fetchVideos(job: VideoJob): Promise<VideoReport> {
  const { run, recorder, settings } = job;
  const report: VideoReport = { stored: 0, protected: 0, failures: [], traffic: null };
  const candidates = findCandidates(recorder.trace.entries, recorder.isWhole);
  if (candidates.length === 0) {
    tell(job, "info", "no manifest, and no video that is not already stored");
    return report;
  }
  const out_of_time = new AbortController();
  const over = new AbortController();
  const late = () => out_of_time.abort(new VideoError("the time for videos is over"));
  void settings.clock
    .sleep(settings.total_ms, over.signal)
    .then(() => over.signal.aborted || late());
  const signal = AbortSignal.any([job.signal, out_of_time.signal]);
  let onTooMuch = () => {};
  const gate = openVideoGate({
    judge: settings.judge,
    resolve: settings.resolve,
    upstream: settings.upstream,
    max_bytes: settings.max_bytes + TOOL_OVERHEAD_BYTES,
    onTooMuch: () => onTooMuch(),
  });
  try {
    const cookies = await readCookies(run.browser.connection);
    const deps = { clock: settings.clock, proxy: gate.url, cookies, signal };
    const findings = await inspectCandidates(deps, candidates, run.browser.user_agent);
    let begun = 0;
    for (const finding of findings) {
      if (finding.kind === "skip" || finding.kind === "broken") {
        skip(job, finding, report);
        continue;
      }
      if (begun >= settings.max_count) {
        tell(job, "warn", `more than ${settings.max_count} videos: the rest are skipped`);
        break;
      }
      begun += 1;
      const too_much = new AbortController();
      onTooMuch = () => too_much.abort(tooLarge(settings.max_bytes));
      gate.restart();
      const limited = AbortSignal.any([signal, too_much.signal]);
      await fetchOne(job, finding, { gate, cookies, number: begun, signal: limited }, report);
      job.signal.throwIfAborted();
    }
    for (const reason of gate.refused) tell(job, "warn", `refused to connect to ${reason}`);
    return report;
  } finally {
    over.abort();
    report.traffic = gate.traffic;
    gate.close();
  }
}

/** Manifests, container and retries come on top of what is in the file. */
const TOOL_OVERHEAD_BYTES = 64 * 1024 * 1024;

const tooLarge = (max_bytes: number) =>
  new VideoError(`the video is larger than ${limitText(max_bytes)}`);

const tell = (
  { run }: VideoJob,
  level: "info" | "warn" | "error",
  message: string,
  fields?: Record<string, unknown>,
) => run.story.log(level, "video", message, fields);

function skip(
  job: VideoJob,
  finding: Extract<Finding, { kind: "skip" | "broken" }>,
  report: VideoReport,
): void {
  const url = shortUrl(finding.candidate.url);
  if (finding.kind === "broken") {
    report.failures.push(`${url}: ${finding.reason}`);
    tell(job, "warn", `${url} could not be read: ${finding.reason}`);
  } else {
    if (finding.protected) report.protected += 1;
    tell(job, "warn", `${url} ${finding.reason}`);
  }
}

interface OneDeps {
  gate: VideoGate;
  cookies: readonly BrowserCookie[];
  number: number;
  signal: AbortSignal;
}

async function fetchOne(
  job: VideoJob,
  finding: Extract<Finding, { kind: "stream" | "file" }>,
  deps: OneDeps,
  report: VideoReport,
): Promise<void> {
  const { settings } = job;
  const { candidate } = finding;
  const url = shortUrl(candidate.url);
  const { tools, clock } = settings;
  if (finding.kind === "stream" && tools.ffmpeg === null && tools.yt_dlp === null) {
    report.failures.push(INSTALL_TOOLS);
    tell(job, "error", `${url} was not downloaded: ${INSTALL_TOOLS}`);
    return;
  }
  const started = clock.monotonic();
  tell(job, "info", `downloading ${url}`, { kind: candidate.kind, number: deps.number });
  try {
    const path =
      finding.kind === "file"
        ? await fetchFile(job, finding, deps)
        : await fetchStream(job, finding, deps);
    const { size } = await stat(path);
    if (size > settings.max_bytes) throw tooLarge(settings.max_bytes);
    const name = await store(job, candidate, path, size);
    report.stored += 1;
    const ms = clock.monotonic() - started;
    tell(job, "info", `${name}: ${humanSize(size)} in ${(ms / 1_000).toFixed(1)} s`, { size, ms });
  } catch (err) {
    job.signal.throwIfAborted();
    const reason = errorMessage(deps.signal.aborted ? deps.signal.reason : err);
    report.failures.push(`${url}: ${reason}`);
    tell(job, "warn", `${url} was not downloaded: ${reason}`);
  }
}

/** Logs the progress, at most once a second. */
function progressOf(job: VideoJob, { gate, number }: OneDeps): (percent: number | null) => void {
  const { clock } = job.settings;
  let told_at = clock.monotonic();
  let told = -1;
  return (percent) => {
    const now = clock.monotonic();
    const whole = percent === null ? null : Math.floor(percent);
    if (now - told_at < PROGRESS_EVERY_MS || (whole !== null && whole === told)) return;
    [told_at, told] = [now, whole ?? -1];
    const bytes = gate.bytes;
    const share = whole === null ? "" : `${whole} %, `;
    tell(job, "info", `video ${number}: ${share}${humanSize(bytes)}`, { percent: whole, bytes });
  };
}

function fetchStream(
  job: VideoJob,
  { stream }: Extract<Finding, { kind: "stream" }>,
  deps: OneDeps,
): Promise<string> {
  const { browser } = job.run;
  const { tools, max_bytes } = job.settings;
  const dir = join(browser.dirs.root, `video-${deps.number}`);
  const { signal, gate, cookies } = deps;
  const onPercent = progressOf(job, deps);
  const download = { browser, tools, proxy: gate.url, max_bytes, signal, onPercent };
  return downloadStream(download, stream, cookies, dir);
}

async function fetchFile(
  job: VideoJob,
  { candidate, identity }: Extract<Finding, { kind: "file" }>,
  deps: OneDeps,
): Promise<string> {
  const { signal, gate, cookies } = deps;
  const response = await request({ proxy: gate.url, cookies, signal }, candidate.url, identity);
  const ext = extname(new URL(candidate.url).pathname).slice(0, 10) || ".mp4";
  const path = join(job.run.browser.dirs.spool, `video-${deps.number}${safe(ext)}`);
  const onPercent = progressOf(job, deps);
  const total = Number(response.headers.get("content-length")) || null;
  const writer = Bun.file(path).writer();
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > job.settings.max_bytes) throw tooLarge(job.settings.max_bytes);
      writer.write(chunk);
      await writer.flush();
      onPercent(total === null ? null : (100 * size) / total);
    }
    signal.throwIfAborted();
    if (size === 0 || (total !== null && size < total)) throw new VideoError("it broke off");
  } catch (err) {
    await Promise.resolve(writer.end()).catch(() => {});
    await Bun.file(path).delete();
    throw err;
  }
  await writer.end();
  return path;
}

const safe = (ext: string): string => (/^\.[a-z0-9]+$/i.test(ext) ? ext : ".mp4");

const MIMES: Record<string, string> = {
  ".mp4": "video/mp4",
  ".mkv": "video/x-matroska",
  ".webm": "video/webm",
  ".mov": "video/quicktime",
  ".ts": "video/mp2t",
  ".m4a": "audio/mp4",
  ".mp3": "audio/mpeg",
  ".ogg": "audio/ogg",
  ".opus": "audio/ogg",
};

/** Moves the file into the spool and hands it over; returns its name in the job. */
async function store(
  job: VideoJob,
  { url, entry }: Candidate,
  from: string,
  size: number,
): Promise<string> {
  const { run, recorder, title } = job;
  const ext = extname(from).toLowerCase();
  const mime = MIMES[ext] ?? "video/mp4";
  const last = new URL(url).pathname.split("/").findLast((part) => part !== "") ?? "video";
  const stem = title?.trim() || last.replace(/\.[^.]*$/, "") || "video";
  const name = recorder.takeName(url, mime, `${stem.slice(0, 120).replace(/[. ]+$/, "")}${ext}`);
  const path = join(run.browser.dirs.spool, `asset-${Bun.hash(from)}${ext}`);
  await rename(from, path);
  const meta = {
    name,
    kind: assetKind(mime),
    mime,
    ext: ext.slice(1),
    source_url: url.slice(0, 70_000),
    page_url: entry.page_url.slice(0, 70_000),
    frame_url: null,
    status: entry.response?.status ?? null,
    from_cache: false,
    from_service_worker: false,
    partial: false,
    refetched: true,
    ranges: [],
  };
  run.sink.putAsset(meta, { path, size, sha256: await hashFile(path) });
  return name;
}
