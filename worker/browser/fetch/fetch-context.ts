import type { Clock } from "#shared/kit/clock.ts";
import type { CaptureReport } from "#shared/protocol/schema/job.ts";
import type { Judge, Resolve } from "#worker/egress/judge.ts";
import type { Upstream } from "#worker/egress/upstream.ts";
import type { JobOutcome, JobRun } from "../lanes/lane-browser.ts";
import type { Recorder } from "../record/recorder.ts";
import type { PopupWatch } from "./popups.ts";
import type { TroubleWatch } from "./trouble.ts";

export interface FetchSettings {
  clock: Clock;
  /** Bytes that bodies of one run may take on this machine's disk at a time. */
  spool_max_bytes: number;
  /** What the worker's lanes may connect to. */
  judge: Judge;
  /** How names are resolved for downloads outside the browser. */
  resolve: Resolve;
  /** The worker's own proxy, for downloads outside a browser without a gate. */
  upstream?: Upstream | null;
  /** How long pictures of the page may take, and its first answer (rules/documents#final-state). */
  picture_ms?: { first: number; whole: number };
  /** Where to look for yt-dlp and ffmpeg; the usual places by default. */
  program_path?: string;
}

/** One job on its page: what the stages share. */
export interface FetchContext {
  run: JobRun;
  settings: FetchSettings;
  trouble: TroubleWatch;
  popups: PopupWatch;
  recorder: Recorder;
  outcome: JobOutcome;
  report: PageReport;
  /** Addresses of the icons that its page names, once they are known. */
  icons: string[];
  /** Clock time at which `max_wait_seconds` are over. */
  deadline: number;
}

/** What the report says about the page itself. */
export type PageReport = Required<Pick<CaptureReport, "page" | "warnings">>;
