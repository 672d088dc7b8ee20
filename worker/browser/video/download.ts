import { chownSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import { type BrowserCookie, cookiesForFfmpeg, writeCookies } from "./cookies.ts";
import type { HlsVariant } from "./hls.ts";
import { ownerOf, runTool } from "./run-tool.ts";
import { type RequestIdentity, VideoError, type VideoTools } from "./video-settings.ts";

/** A stream that is worth downloading: not live, not protected, not a part of another one. */
export interface Stream {
  kind: "hls" | "dash";
  url: string;
  /** The best variant, when the manifest names several; null when there is only one. */
  variant: HlsVariant | null;
  duration_s: number | null;
  identity: RequestIdentity;
}

export interface DownloadDeps {
  browser: LaneBrowser;
  tools: VideoTools;
  proxy: string;
  max_bytes: number;
  signal: AbortSignal;
  /** Reports the progress in percent. */
  onPercent(percent: number): void;
}

/**
 * Downloads a stream into one playable file: with yt-dlp if it is installed, which takes the best video and audio and
 * joins them with ffmpeg, otherwise with ffmpeg alone. Leaves only the file in `dir`.
 * @returns its path.
 * @throws VideoError, or the signal's reason.
 */
export async function downloadStream(
  deps: DownloadDeps,
  stream: Stream,
  cookies: readonly BrowserCookie[],
  dir: string,
): Promise<string> {
  await mkdir(dir, { mode: 0o700 });
  giveToBrowserUser(deps.browser, dir);
  const jar = join(dir, "cookies.txt");
  try {
    if (deps.tools.yt_dlp) {
      await writeCookies(jar, cookies);
      giveToBrowserUser(deps.browser, jar);
      await runYtDlp(deps, deps.tools.yt_dlp, stream, jar, dir);
    } else if (deps.tools.ffmpeg) await runFfmpeg(deps, deps.tools.ffmpeg, stream, cookies, dir);
    const [name, ...more] = (await readdir(dir)).filter((n) =>
      /^video\.(mp4|mkv|webm|mov|ts|m4a|mp3|ogg|opus)$/.test(n),
    );
    if (name === undefined || more.length > 0)
      throw new VideoError("the tool left no playable file");
    const path = join(dir, name);
    if ((await stat(path)).size === 0) throw new VideoError("the file is empty");
    const kept = `${dir}-${name}`;
    await rename(path, kept);
    return kept;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function giveToBrowserUser(browser: LaneBrowser, path: string): void {
  const owner = ownerOf(browser);
  if (owner) chownSync(path, owner.uid, owner.gid);
}

/** `--` ends the options, so that no URL can be taken for one. */
async function runYtDlp(
  { browser, proxy, max_bytes, signal, onPercent, tools }: DownloadDeps,
  program: string,
  { url, identity }: Stream,
  jar: string,
  dir: string,
): Promise<void> {
  const args = [
    "--ignore-config",
    "--no-cache-dir",
    "--no-playlist",
    "--no-mtime",
    "--no-colors",
    "--newline",
    "--quiet",
    "--progress",
    "--progress-template",
    "download:PROGRESS %(progress._percent_str)s",
    // Only the manifest: no site extractors, no embedded players.
    "--use-extractors",
    "generic",
    "--format",
    "bestvideo*+bestaudio/best",
    "--merge-output-format",
    "mp4/mkv",
    "--abort-on-unavailable-fragments",
    "--retries",
    "3",
    "--fragment-retries",
    "5",
    "--socket-timeout",
    "30",
    "--max-filesize",
    String(max_bytes),
    "--proxy",
    proxy,
    "--cookies",
    jar,
    "--user-agent",
    identity.user_agent,
    ...(identity.referer === null ? [] : ["--referer", identity.referer]),
    ...(identity.origin === null ? [] : ["--add-header", `Origin:${identity.origin}`]),
    ...(tools.ffmpeg === null ? [] : ["--ffmpeg-location", tools.ffmpeg]),
    "--output",
    "video.%(ext)s",
    "--",
    url,
  ];
  await runTool({
    program,
    args,
    path: tools.path,
    dir,
    proxy,
    browser,
    signal,
    onLine: (line) => {
      const percent = /^PROGRESS\s+([\d.]+)%/.exec(line)?.[1];
      if (percent !== undefined) onPercent(Number(percent));
    },
  });
}

async function runFfmpeg(
  { browser, proxy, max_bytes, signal, onPercent, tools }: DownloadDeps,
  program: string,
  stream: Stream,
  cookies: readonly BrowserCookie[],
  dir: string,
): Promise<void> {
  const { url, variant, identity, duration_s } = stream;
  const inputs = variant
    ? [variant.url, ...(variant.audio_url === null ? [] : [variant.audio_url])]
    : [url];
  const headers = [
    ...(identity.referer === null ? [] : [`Referer: ${identity.referer}`]),
    ...(identity.origin === null ? [] : [`Origin: ${identity.origin}`]),
  ];
  const jar = cookiesForFfmpeg(cookies, [url, ...inputs]);
  const common = [
    // Only the network, and only through the gate: a playlist may name any file of this machine.
    "-protocol_whitelist",
    "http,https,tcp,tls,crypto,httpproxy",
    "-rw_timeout",
    "60000000",
    "-user_agent",
    identity.user_agent,
    ...(headers.length === 0 ? [] : ["-headers", `${headers.join("\r\n")}\r\n`]),
    ...(jar === "" ? [] : ["-cookies", jar]),
  ];
  const args = [
    "-nostdin",
    "-hide_banner",
    "-loglevel",
    "error",
    "-progress",
    "pipe:1",
    ...inputs.flatMap((input) => [...common, "-i", input]),
    ...(inputs.length > 1 ? ["-map", "0:v:0", "-map", "1:a:0"] : []),
    "-c",
    "copy",
    "-fs",
    String(max_bytes),
    "-movflags",
    "+faststart",
  ];
  let reached_s = 0;
  const onLine = (line: string) => {
    const us = /^out_time_us=(\d+)$/.exec(line)?.[1];
    if (us === undefined) return;
    reached_s = Number(us) / 1e6;
    if (duration_s) onPercent(Math.min(100, (100 * reached_s) / duration_s));
  };
  const run = { program, path: tools.path, dir, proxy, browser, signal, onLine };
  try {
    await runTool({ ...run, args: [...args, "video.mp4"] });
  } catch (err) {
    if (!(err instanceof VideoError) || !/codec|muxer|container/i.test(err.message)) throw err;
    // What MP4 cannot hold, Matroska can.
    await rm(join(dir, "video.mp4"), { force: true });
    await runTool({ ...run, args: [...args, "video.mkv"] });
  }
  // ffmpeg skips the segments that it cannot get, and calls that a success.
  if (duration_s !== null && reached_s < duration_s - Math.max(1, duration_s / 50))
    throw new VideoError(
      `it broke off after ${reached_s.toFixed(1)} of ${duration_s.toFixed(1)} s`,
    );
}
