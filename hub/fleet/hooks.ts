import type { JobLog, WorkerResult } from "#shared/link/messages.ts";
import type { HeldLane, WorkerLink } from "./worker-link.ts";

/** Upward calls of the fleet, wired to `hub/jobs` in `serve.ts`: the fleet does not import the jobs. */
export interface FleetHooks {
  /** A lane may be free: pull the oldest queued job. */
  laneFree(): void;
  /** The worker is gone: its running jobs fail (fleet spec §3.1). */
  workerLost(worker_id: string): Promise<void>;
  jobLog(held: HeldLane, message: JobLog): Promise<void>;
  /** True when the result was the job's; false when the lease was no longer its own. */
  jobResult(held: HeldLane, message: WorkerResult): Promise<boolean>;
  /** The lane is free again and no result ever came. */
  jobAbandoned(link: WorkerLink, held: HeldLane): Promise<void>;
}
