import type { RunExtras } from "#shared/protocol/link/messages.ts";
import type { HttpLogin } from "#shared/protocol/schema/http-credentials.ts";
import type { CaptureReport, FinalState, JobOptions } from "#shared/protocol/schema/job.ts";
import type { Mask } from "#shared/recording/masks.ts";
import type { BrowserGate, StandIn } from "#worker/egress/gate.ts";
import type { JobStory } from "#worker/link/story.ts";
import type { AssetSink } from "#worker/upload/asset-sink.ts";
import type { CdpConnection, Protocol } from "../cdp/connection.ts";
import type { ProcessExit } from "../process/spawn.ts";
import type { Pause } from "../record/pauses.ts";
import type { Dialogs } from "../session/dialogs.ts";

export interface BrowserExit extends ProcessExit {
  /** What its lane has ended it for, after "it": `was silent for 3 pings of 5 s`. Null: it was somebody else. */
  ended_for: string | null;
}

/** Own directories of one browser run; everything below `root` is removed when the run ends. */
export interface RunDirs {
  root: string;
  user_data: string;
  tmp: string;
  downloads: string;
  spool: string;
}

/** What a run may know about its browser's egress, and request from it (`worker/egress/gate.ts`). */
export type LaneGate = BrowserGate & { readonly port: number };

/** What answers a browser that shows the past. */
export interface LaneArchive {
  stand_in: StandIn;
  /** SHA-256 of the public key that its certificates have, in base64. */
  key: string;
  /** By how much the clock of its pages is moved; null: they see the present time. */
  clock_offset_ms: number | null;
}

/** A started Chromium, its CDP pipe and its process group. */
export interface LaneBrowser {
  connection: CdpConnection;
  /** Its DevTools socket on loopback, in addition to the pipe: `ws://127.0.0.1:9223/devtools/browser/…`. */
  cdp_url: string;
  pid: number;
  /** Debugging port on loopback, in addition to the pipe. */
  cdp_port: number;
  /** e.g. `Chrome/156.0.8078.73`. */
  product: string;
  user_agent: string;
  headless: boolean;
  sandbox: "on" | "off";
  /** `durable`: Network.configureDurableMessages exists (feature-detected at start). */
  capture: "durable" | "buffered";
  /** Everything the browser sends goes through it; null for a browser that is not the fleet's. */
  gate: LaneGate | null;
  /** Everything that it requests is answered by this; absent: by the network. */
  archive?: LaneArchive | null;
  /** It opens sites with invalid certificates; absent: nobody knows. */
  ignore_https_errors?: boolean;
  /** PEM of authorities that it was started with; absent: nobody knows. */
  certificate_authorities?: string | null;
  dirs: RunDirs;
  /** Resolves once, when the process is gone, however it ended. */
  exited: Promise<BrowserExit>;
  /** Ends the whole process group: close over CDP (1 s) → TERM (1 s) → KILL, then removes `dirs.root`. Idempotent. */
  kill(): Promise<void>;
}

/** A job's tab in a browser that others use as well: the job owns only what this tab opens. */
export interface JobTab {
  target_id: string;
  owns(target: Protocol.Target.TargetInfo): boolean;
  /** False when the browser's downloads do not belong to the job. */
  downloads: boolean;
}

/** One job as a lane runs it. */
export interface JobRun {
  job_id: string;
  url: string;
  options: JobOptions;
  extras: RunExtras;
  browser: LaneBrowser;
  /** The tab it runs in, when the job shares the browser. */
  tab: JobTab | null;
  /** Follows the dialogs of its pages and answers them. */
  dialogs: Pick<Dialogs, "follow">;
  /** Requests of its pages that are blocked, before anything else holds them; null: none are. */
  blocks: Pause | null;
  /** How much its downloads may have in all; null: as much as the spool has room for. */
  max_download_bytes: number | null;
  /** The login for servers that ask for one; null: there is none. */
  http_login: HttpLogin | null;
  story: JobStory;
  /** Its story goes into a recording too, which has where the elements of its steps are. */
  is_recorded: boolean;
  /** Hides what its recipes type into fields whose text nobody may read. */
  hide: Mask["hide"];
  sink: AssetSink;
  /** Aborts when the job is cancelled, the link is lost or the worker stops. */
  signal: AbortSignal;
}

/** The result of a run. `failed` needs an `error` that a person can act on. */
export interface JobOutcome {
  status: "completed" | "failed";
  error: string | null;
  stage: string | null;
  http_status: number | null;
  final_url: string | null;
  title: string | null;
  capture: CaptureReport | null;
  /** Absent when its page was not pictured. */
  final_state?: FinalState;
}
