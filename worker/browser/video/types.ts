import type { Clock } from "#shared/kit/clock.ts";
import type { Judge, Resolve } from "#worker/egress/judge.ts";
import type { Upstream } from "#worker/egress/upstream.ts";
import type { TraceEntry } from "../record/trace.ts";

/** Programs by absolute path; null what is not installed. */
export interface VideoTools {
  /** Where they look for each other. */
  path: string;
  yt_dlp: string | null;
  ffmpeg: string | null;
}

export interface VideoSettings {
  clock: Clock;
  judge: Judge;
  /** The proxy that the browser goes out through as well. */
  upstream: Upstream | null;
  resolve: Resolve;
  tools: VideoTools;
  /** Bytes that one video may have. */
  max_bytes: number;
  max_count: number;
  /** What all downloads of a job may take. */
  total_ms: number;
}

/** Something to watch that the page asked for. */
export interface Candidate {
  kind: "hls" | "dash" | "file";
  url: string;
  entry: TraceEntry;
}

/** What the site is told, so that it answers as it answered the browser. */
export interface RequestIdentity {
  user_agent: string;
  referer: string | null;
  origin: string | null;
}

/** A download that is no use to go on with; its message is for the person who submitted the job. */
export class VideoError extends Error {
  override readonly name = "VideoError";
}
