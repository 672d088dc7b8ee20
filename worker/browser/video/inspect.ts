import { errorMessage } from "#shared/kit/errors.ts";
import { parseDash } from "./dash.ts";
import type { Stream } from "./download.ts";
import { type HlsPlaylist, type HlsVariant, parseHls } from "./hls.ts";
import { type ManifestDeps, readManifest } from "./request.ts";
import { type Candidate, type RequestIdentity, VideoError } from "./video-settings.ts";

/**
 * What a candidate turned out to be. `skip`: not a separate video, or one that may not be downloaded; the reason says
 * so.
 */
export type Finding =
  | { kind: "stream"; candidate: Candidate; stream: Stream }
  | { kind: "file"; candidate: Candidate; identity: RequestIdentity }
  | {
      kind: "skip";
      candidate: Candidate;
      reason: string;
      /** Protected by DRM. */
      protected: boolean;
    }
  | { kind: "broken"; candidate: Candidate; reason: string };

const MAX_MANIFESTS = 50;

/** Headers for the server, the same as the browser sent. */
export function identityOf({ entry }: Candidate, user_agent: string): RequestIdentity {
  const header = (name: string): string | null => {
    const value = Object.entries(entry.request_headers).find(
      ([key]) => key.toLowerCase() === name,
    )?.[1];
    return value && /^[\x20-\x7e]+$/.test(value) ? value : null;
  };
  const page = URL.canParse(entry.page_url) ? new URL(entry.page_url) : null;
  const fallback = page && /^https?:$/.test(page.protocol) ? `${page.origin}/` : null;
  return {
    user_agent: header("user-agent") ?? user_agent,
    referer: header("referer") ?? fallback,
    origin: header("origin"),
  };
}

/** Reads the manifests and separates videos from parts of videos: each video once, in the order of the requests. */
export async function inspectCandidates(
  deps: ManifestDeps,
  candidates: readonly Candidate[],
  user_agent: string,
): Promise<Finding[]> {
  const manifests = candidates.filter(({ kind }) => kind !== "file").slice(0, MAX_MANIFESTS);
  const read = await Promise.all(
    manifests.map(async (candidate) => {
      const identity = identityOf(candidate, user_agent);
      try {
        const text = await readManifest(deps, candidate.url, identity);
        const playlist = candidate.kind === "hls" ? parseHls(text, candidate.url) : null;
        return { candidate, identity, text, playlist, reason: "" };
      } catch (err) {
        deps.signal.throwIfAborted();
        const reason = errorMessage(err);
        return { candidate, identity, text: null, playlist: null, reason };
      }
    }),
  );
  const parts = new Set<string>();
  for (const { playlist } of read) {
    if (playlist?.kind === "master") for (const child of playlist.children) parts.add(child);
  }
  const findings: Finding[] = [];
  const seen = new Set<string>();
  for (const { candidate, identity, text, playlist, reason } of read) {
    // A variant belongs to its master, which names the best of them.
    if (parts.has(candidate.url)) continue;
    if (text === null) {
      findings.push({ kind: "broken", candidate, reason });
      continue;
    }
    // The same manifest under another token is the same video.
    const key = `${new URL(candidate.url).pathname} ${Bun.hash(text)}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const facts = () =>
      candidate.kind === "hls" ? hlsFacts(deps, identity, playlist) : dashFacts(text);
    findings.push(await inspect(deps, candidate, identity, facts));
  }
  for (const candidate of candidates)
    if (candidate.kind === "file")
      findings.push({ kind: "file", candidate, identity: identityOf(candidate, user_agent) });
  return findings;
}

async function inspect(
  deps: ManifestDeps,
  candidate: Candidate,
  identity: RequestIdentity,
  factsOf: () => Promise<Facts | null>,
): Promise<Finding> {
  const skip = (reason: string, drm = false): Finding => ({
    kind: "skip",
    candidate,
    reason,
    protected: drm,
  });
  const { url } = candidate;
  try {
    const facts = await factsOf();
    if (!facts) return skip("is not a manifest");
    if (facts.drm !== null) return skip(`is protected by DRM (${facts.drm}): not downloaded`, true);
    if (facts.live) return skip("is a live stream: not downloaded");
    const { duration_s, variant } = facts;
    const kind = candidate.kind === "dash" ? "dash" : "hls";
    return { kind: "stream", candidate, stream: { kind, url, variant, duration_s, identity } };
  } catch (err) {
    deps.signal.throwIfAborted();
    return { kind: "broken", candidate, reason: errorMessage(err) };
  }
}

interface Facts {
  variant: HlsVariant | null;
  drm: string | null;
  live: boolean;
  duration_s: number | null;
}

async function dashFacts(text: string): Promise<Facts | null> {
  const manifest = parseDash(text);
  return manifest && { ...manifest, variant: null };
}

/** A master playlist itself has few facts: the playlists that it names give keys, length and end. */
async function hlsFacts(
  deps: ManifestDeps,
  identity: RequestIdentity,
  playlist: HlsPlaylist | null,
): Promise<Facts | null> {
  if (!playlist) return null;
  if (playlist.kind === "media") return { ...playlist, variant: null };
  const [variant] = playlist.variants;
  if (!variant) throw new VideoError("the manifest names no stream");
  const urls = [variant.url, ...(variant.audio_url === null ? [] : [variant.audio_url])];
  const children = await Promise.all(
    urls.map(async (child) => parseHls(await readManifest(deps, child, identity), child)),
  );
  const media = children.filter((child) => child?.kind === "media");
  const [picture] = media;
  if (!picture) throw new VideoError("the manifest names no stream");
  return {
    variant,
    drm: playlist.drm ?? media.find(({ drm }) => drm !== null)?.drm ?? null,
    live: media.some(({ live }) => live),
    duration_s: picture.duration_s,
  };
}
