import type {
  JobLog,
  SessionEnded,
  SessionOpened,
  SessionRefused,
  SessionReply,
  WorkerResult,
} from "#shared/link/messages.ts";
import type { JobLane, WorkerLink } from "./worker-link.ts";

/** Upward calls of the fleet, wired to `hub/jobs` in `serve.ts`: the fleet does not import the jobs. */
export interface FleetHooks {
  /** A lane may be free: pull the oldest queued job. */
  laneFree(): void;
  /** The worker is gone: its running jobs fail (fleet spec §3.1). */
  workerLost(worker_id: string): Promise<void>;
  jobLog(held: JobLane, message: JobLog): Promise<void>;
  /** True when the result was the job's; false when the lease was no longer its own. */
  jobResult(held: JobLane, message: WorkerResult): Promise<boolean>;
  /** What a worker says of its sessions. */
  sessionMessage(
    link: WorkerLink,
    message: SessionOpened | SessionRefused | SessionEnded | SessionReply,
  ): Promise<void> | void;
  /** The lane is free again and no result ever came. */
  jobAbandoned(link: WorkerLink, held: JobLane): Promise<void>;
}
