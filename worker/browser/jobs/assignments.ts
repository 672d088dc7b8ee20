import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type {
  HubAssignJob,
  HubCancelJob,
  HubEndRun,
  HubResultAck,
  LaneHeld,
  RunEnd,
} from "#shared/protocol/link/messages.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import type { LaneHold, LanePool } from "#worker/browser/lanes/pool.ts";
import type { LinkSession } from "#worker/link/link-session.ts";

/** Why a run was stopped before its end. It is the reason of the run's aborted signal. */
export class RunStopped extends Error {
  readonly kind: "cancelled" | "link_lost" | "worker_stopping";
  constructor(kind: RunStopped["kind"], detail: string) {
    super(detail);
    this.name = "RunStopped";
    this.kind = kind;
  }
}

/**
 * An accepted job with everything its run needs. `options` is an error text when the hub's options did not validate.
 */
export interface AcceptedJob {
  assignment: HubAssignJob;
  options: JobOptions | { invalid: string };
  hold: LaneHold;
  session: LinkSession;
  /** It runs in a live session, whose lane it does not release. */
  attached: boolean;
  /** Aborts with a `RunStopped`. */
  signal: AbortSignal;
  stop(why: RunStopped): void;
  /** Resolves with `accepted` of the hub's HubResultAck. */
  acknowledged: Promise<boolean>;
  /** Reports to the hub that its script may drive the page. */
  tellReady(): void;
  /** Resolves with the hub's HubEndRun, which ends a scripted run. */
  run_end: Promise<RunEnd>;
}

export interface AssignmentsDeps {
  log: Log;
  pool: Pick<LanePool, "hold">;
  max_concurrent: number;
  /** Sessions, which count against `max_concurrent` like jobs. */
  others_in_flight(): number;
  /** The hold of the live session in which the job must run (attach_to_job), or why it is not available. */
  borrow(message: HubAssignJob): LaneHold | string;
  /** Runs a job to its end and releases the lane; must not reject. */
  run(job: AcceptedJob): Promise<void>;
}

export interface Assignments {
  assign(session: LinkSession, message: HubAssignJob): void;
  /** False when no such job is running, or it has ended. */
  cancel(message: Pick<HubCancelJob, "job_id" | "lease_token" | "reason">): boolean;
  acknowledge(message: HubResultAck): void;
  endRun(message: HubEndRun): void;
  /** From now on every assignment is refused with `reason`. */
  refuse(reason: string): void;
  /** Stops every running job. */
  stopAll(why: RunStopped): void;
  /** Why no further job can be accepted now, or null. */
  reasonToRefuse(): string | null;
  /** Number of jobs whose lane is not yet being released. */
  in_flight(): number;
  /** Jobs whose result the hub has not confirmed yet. */
  holds(): LaneHeld[];
  /** Resolves when no job is running and every lane has been released. */
  idle(): Promise<void>;
}

interface Running {
  stop: AbortController;
  acknowledge(accepted: boolean): void;
  endRun(end: RunEnd): void;
  readonly held: LaneHeld;
  readonly attached: boolean;
  /** The hub has confirmed its result. */
  told: boolean;
  releasing: boolean;
  done: Promise<void>;
}

const keyOf = (m: { job_id: string; lease_token: number }) => `${m.job_id}#${m.lease_token}`;

function readOptions(raw: Record<string, unknown>): AcceptedJob["options"] {
  const parsed = JobOptions.safeParse(raw);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  return { invalid: `options.${issue?.path.join(".")}: ${issue?.message}` };
}

/**
 * The jobs this worker runs, by job and lease token: a message that names another token is stale and changes
 * nothing. Taking the lane is synchronous and so decides every race between two assignments.
 */
export function createAssignments(deps: AssignmentsDeps): Assignments {
  const running = new Map<string, Running>();
  let refusal: string | null = null;

  const inFlight = () => [...running.values()].filter((job) => !job.releasing).length;
  const reasonToRefuse = (): string | null =>
    refusal ??
    (inFlight() + deps.others_in_flight() >= deps.max_concurrent
      ? "worker runs MAX_CONCURRENT jobs"
      : null);

  const begin = (session: LinkSession, assignment: HubAssignJob, hold: LaneHold) => {
    const key = keyOf(assignment);
    const { entry, job } = accept(session, assignment, hold);
    running.set(key, entry);
    entry.done = deps
      .run(job)
      .catch((err) => deps.log.error({ job_id: assignment.job_id, err }, "job run broke"))
      .finally(() => running.delete(key));
  };

  return {
    assign: (session, message) => {
      const { job_id, lease_token, lane_idx, session_id } = message;
      if (running.has(keyOf(message))) return;
      const attached = message.extras.in_session !== null;
      const held = attached
        ? (refusal ?? deps.borrow(message))
        : (reasonToRefuse() ?? takeLane(deps.pool, lane_idx, { job_id, session_id }));
      if (typeof held === "string") {
        deps.log.warn({ job_id, lane_idx, lease_token, reason: held }, "job refused");
        session.send({ type: "JobRefused", job_id, lease_token, reason: held });
        return;
      }
      session.send({ type: "JobAccepted", job_id, lease_token });
      deps.log.info({ job_id, lane_idx, lease_token }, "job accepted");
      begin(session, message, held);
    },
    cancel: (message) => {
      const job = running.get(keyOf(message));
      if (job) job.stop.abort(new RunStopped("cancelled", message.reason));
      else deps.log.debug({ job_id: message.job_id }, "stale cancel ignored");
      return job !== undefined;
    },
    acknowledge: (message) => {
      const { job_id, lease_token, accepted } = message;
      if (!accepted)
        deps.log.warn({ job_id, lease_token }, "result refused: the lease had moved on");
      const job = running.get(keyOf(message));
      if (!job) return;
      job.told = true;
      job.acknowledge(accepted);
    },
    endRun: (message) => running.get(keyOf(message))?.endRun(message),
    refuse: (reason) => {
      refusal = reason;
    },
    stopAll: (why) => {
      for (const job of running.values()) job.stop.abort(why);
    },
    reasonToRefuse,
    in_flight: inFlight,
    holds: () =>
      [...running.values()]
        .filter(({ told }) => !told)
        .map(({ held, attached, releasing }) => ({ ...held, uploading: releasing && !attached })),
    idle: async () => {
      while (running.size > 0) await Promise.all([...running.values()].map((job) => job.done));
    },
  };
}

/** An accepted job: what its run needs, and what the worker keeps of it. */
function accept(
  session: LinkSession,
  assignment: HubAssignJob,
  hold: LaneHold,
): { entry: Running; job: AcceptedJob } {
  const attached = assignment.extras.in_session !== null;
  const stop = new AbortController();
  const ack = Promise.withResolvers<boolean>();
  const ended = Promise.withResolvers<RunEnd>();
  const { job_id, lease_token, session_id } = assignment;
  const entry: Running = {
    stop,
    held: { lane_idx: hold.lane_idx, session_id, lease_token, job_id },
    acknowledge: ack.resolve,
    attached,
    told: false,
    endRun: ended.resolve,
    // Its session's lane is already counted.
    releasing: attached,
    done: Promise.resolve(),
  };
  const job: AcceptedJob = {
    assignment,
    options: readOptions(assignment.options),
    hold: {
      lane_idx: hold.lane_idx,
      browser: (wanted) => hold.browser(wanted),
      restart: (between) => hold.restart(between),
      release: () => {
        // The hub may answer the lane's `warm` with its next job before this promise is settled.
        entry.releasing = true;
        return hold.release();
      },
    },
    session,
    attached,
    signal: stop.signal,
    stop: (why) => stop.abort(why),
    acknowledged: ack.promise,
    tellReady: () => void session.send({ type: "RunReady", job_id, lease_token }),
    run_end: ended.promise,
  };
  return { entry, job };
}

/** Takes the lane, or says why it is not available. */
function takeLane(
  pool: AssignmentsDeps["pool"],
  lane_idx: number,
  holder: { job_id: string; session_id: string },
): LaneHold | string {
  try {
    return pool.hold(lane_idx, holder) ?? `lane ${lane_idx} is not warm and free`;
  } catch (err) {
    return errorMessage(err);
  }
}
