import { assetKind, resolveMime } from "#shared/archive/asset-names.ts";
import type { TraceEntry } from "../record/trace-entry.ts";
import type { Candidate } from "./video-settings.ts";

const HLS_TYPES = new Set([
  "application/vnd.apple.mpegurl",
  "application/x-mpegurl",
  "application/mpegurl",
  "audio/mpegurl",
  "audio/x-mpegurl",
]);
const DASH_TYPES = new Set(["application/dash+xml", "video/vnd.mpeg.dash.mpd"]);

/**
 * Manifests and media files in the trace of a page and all its frames, in order, each URL once. A media file counts
 * when an element played it; files that scripts fetch are pieces of a stream. `isStored`: it is already stored whole,
 * byte for byte.
 */
export function findCandidates(
  entries: readonly TraceEntry[],
  isStored: (url: string) => boolean,
): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const entry of entries) {
    const kind = kindOf(entry);
    if (kind === null || found.has(entry.url)) continue;
    if (kind === "file" && isStored(entry.url)) continue;
    found.set(entry.url, { kind, url: entry.url, entry });
  }
  return [...found.values()];
}

function kindOf({ url, method, type, response }: TraceEntry): Candidate["kind"] | null {
  if (method !== "GET" || !response || !URL.canParse(url)) return null;
  if (response.status !== 200 && response.status !== 206 && response.status !== 304) return null;
  const mime = response.mime.split(";")[0]?.trim().toLowerCase() ?? "";
  const path = new URL(url).pathname.toLowerCase();
  if (HLS_TYPES.has(mime) || path.endsWith(".m3u8")) return "hls";
  if (DASH_TYPES.has(mime) || path.endsWith(".mpd")) return "dash";
  const name = path.slice(path.lastIndexOf("/") + 1);
  return type === "Media" && assetKind(resolveMime(mime, name)) === "video" ? "file" : null;
}
