import type { Clock } from "#shared/kit/clock.ts";
import type { Judge, Resolve } from "#worker/egress/judge.ts";
import type { Upstream } from "#worker/egress/upstream.ts";
import type { TraceEntry } from "../record/trace-entry.ts";

/** Programs by absolute path; null what is not installed. */
export interface VideoTools {
  /** PATH in which they look for each other. */
  path: string;
  yt_dlp: string | null;
  ffmpeg: string | null;
}

export interface VideoSettings {
  clock: Clock;
  judge: Judge;
  /** The proxy that the browser uses as well. */
  upstream: Upstream | null;
  resolve: Resolve;
  tools: VideoTools;
  /** Limit of one video, in bytes. */
  max_bytes: number;
  max_count: number;
  /** Time limit of all downloads of a job. */
  total_ms: number;
}

/** A possible video that the page requested. */
export interface Candidate {
  kind: "hls" | "dash" | "file";
  url: string;
  entry: TraceEntry;
}

/** What the site receives, so that it answers as it answered the browser. */
export interface RequestIdentity {
  user_agent: string;
  referer: string | null;
  origin: string | null;
}

/** A download that is not worth continuing; its message is for the person who submitted the job. */
export class VideoError extends Error {
  override readonly name = "VideoError";
}
