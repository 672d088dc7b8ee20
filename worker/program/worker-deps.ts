import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Tracer } from "#shared/kit/tracing/tracer.ts";
import type { BridgeDeps, Bridges } from "#worker/browser/bridge/bridge.ts";
import type { FetchSettings } from "#worker/browser/fetch/fetch-context.ts";
import type { JobOutcome, JobRun } from "#worker/browser/lanes/lane-browser.ts";
import type { LanePool, LanePoolDeps } from "#worker/browser/lanes/pool.ts";
import type { ScriptedRun } from "#worker/browser/scripted/run-scripted.ts";
import type { WorkerConfig } from "#worker/config.ts";
import type { WorkerMetrics } from "#worker/metrics/worker-metrics.ts";

export interface WorkerDeps {
  config: WorkerConfig;
  log: Log;
  clock: Clock;
  version: string;
  /** Version of the program that runs this one; its own if it was not updated. */
  base?: string;
  /** The release data built into the program; null or absent: an unsigned build. */
  release?: { key: string; released_at: string } | null;
  /** Called for every handshake with a hub. */
  onRegistered?: () => void;
  /**
   * Called with a line for people when it is ready, which means that the hub or control plane has answered; may be
   * called again.
   */
  onReady?: (status: string) => void;
  /** What this process counts; absent where nobody reads it. */
  metrics?: WorkerMetrics;
  /** Where the spans of this process go; absent where no collector is named. */
  tracer?: Tracer;
  /** Other parts of this process that must finish their work before an update. */
  drainOthers?: () => Promise<void>;
  /** Command that starts this program: an agent's instances are the same program. */
  self?: readonly string[];
  /** Aborting it ends a start that is under way; once started, `stop` ends the worker. */
  signal?: AbortSignal;
}

/** The parts of a worker besides its link; tests supply their own. */
export interface WorkerParts {
  createLanePool(deps: LanePoolDeps): Promise<LanePool>;
  runFetch(run: JobRun, settings: FetchSettings): Promise<JobOutcome>;
  runScripted(run: ScriptedRun, settings: FetchSettings): Promise<JobOutcome>;
  startBridges(deps: BridgeDeps): Promise<Bridges>;
  /** Called once the lanes are warm, so that the first action of a session need not wait for it. */
  loadPlaywright(): Promise<void>;
  random(): number;
}
