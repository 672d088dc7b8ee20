import type { PullWorkerRow } from "#hub/platform/db/rows.ts";
import type { StartDeploy } from "#shared/protocol/schema/operations.ts";

export interface RestartDesk {
  /**
   * Starts a restart that was requested (rules/pipeline-agents#restart-a-worker-over-ssh); its result is logged.
   * @throws AppError not_found for an unknown worker or a host that is not allowed; conflict when no command is
   * configured, or one is under way.
   */
  ask(worker_id: string): Promise<{ worker_id: string; host: string }>;
  /** Starts one on its own initiative if SVC_WATCHDOG_MAX_PER_HOUR still allows it. */
  restartSilent(worker: PullWorkerRow): Promise<boolean>;
  /** Ends what runs. */
  stop(): Promise<void>;
}

export interface DeployDesk {
  /**
   * Starts the configured command for a target (rules/pipeline-operations#deploys).
   * @throws AppError conflict while one runs, or when no command is configured
   */
  start(input: StartDeploy): Promise<number>;
  /** Marks one whose process is gone as interrupted, and forgets the oldest ones. */
  sweepOnce(): Promise<void>;
  /** Ends what runs, and records that in the history. */
  stop(): Promise<void>;
}

/** How the control plane itself is operated (rules/pipeline-operations#settings). */
export interface Operations {
  readonly deploys: DeployDesk;
  readonly restarts: RestartDesk;
  /** Created at this start, to be shown once; null otherwise. */
  readonly new_password: string | null;
}
