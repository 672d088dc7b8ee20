import type {
  JobLog,
  SessionEnded,
  SessionOpened,
  SessionRefused,
  SessionReply,
  WorkerResult,
} from "#shared/protocol/link/messages.ts";
import type { LeftLink } from "./left-link.ts";
import type { HeldLane, JobLane, WorkerLink } from "./worker-link.ts";

/** Upward calls of the fleet, wired to jobs and sessions in `program/fleet-hooks.ts`: the links import neither. */
export interface FleetHooks {
  /** A lane may be free: pull the oldest queued job. */
  laneFree(): void;
  /** A lane was leased. */
  laneTaken(): void;
  /** The worker has registered: what an earlier incarnation ran, at whichever hub, fails (rules/jobs#lost-workers). */
  workerStarted(worker_id: string): Promise<void>;
  /** The previous hub had this link: finds the jobs and sessions that the worker still runs, and ends the others. */
  takenUp(link: WorkerLink, left: LeftLink): Promise<void>;
  /** This hub stops and leaves the link to the next: ends what only this process can lead. */
  leaving(link: WorkerLink): Promise<void>;
  /**
   * The link has ended, for `cause`: its sessions end, and the jobs under its leases fail (rules/jobs#lost-workers), unless
   * its worker has `moved` to another hub, which decides about everything it runs.
   */
  linkLost(link: WorkerLink, cause: string, moved: boolean): Promise<void>;
  /** The link has no socket, and the hub waits for its worker; notifies the jobs and sessions that wait with it. */
  linkCut(link: WorkerLink): Promise<void>;
  /** The worker is back on the link: everything goes on. */
  linkBack(link: WorkerLink, cut_ms: number): Promise<void>;
  /** The page of a scripted job is open. Must not wait for its script. */
  scriptReady(held: JobLane): void;
  jobLog(held: JobLane, message: JobLog): Promise<void>;
  /** True when the result was the job's; false when the lease no longer belonged to the job. */
  jobResult(held: JobLane, message: WorkerResult): Promise<boolean>;
  /** What a worker reports of its sessions. */
  sessionMessage(
    link: WorkerLink,
    message: SessionOpened | SessionRefused | SessionEnded,
  ): Promise<void> | void;
  /** Comes out of order, ahead of what the database still has to store: an action waits for nothing else. */
  sessionReply(link: WorkerLink, message: SessionReply): void;
  /**
   * The job's run is over and it goes on uploading without its lane, which is about to be free: its session is over.
   */
  laneLeft(held: JobLane): Promise<void>;
  /** The lane is free again: its session is over, and so is its job unless it is uploading or a result came. */
  laneOver(link: WorkerLink, held: HeldLane): Promise<void>;
}
