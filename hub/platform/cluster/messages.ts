import { z } from "zod";
import { WORKER_ID } from "#shared/protocol/ids.ts";
import { JobStatus } from "#shared/protocol/schema/job.ts";
import { WorkerStatus } from "#shared/protocol/schema/worker.ts";

/** Every hub of a fleet publishes and listens here. */
export const HUBS_CHANNEL = "hubs";

/** The channel that announces new events of a job; only hubs with a stream that follows the job listen. */
export const eventsChannel = (job_id: string): string => `job-events:${job_id}`;

/** Jobs named in one wake. */
export const MAX_WAKE_JOBS = 64;

const from = z.string().min(1).max(64);
const job_id = z.string().min(1).max(64);
const worker_id = z.string().regex(WORKER_ID);

/**
 * The best workers of a hub that could take a job now: those that tie by rules/scheduling#order-of-candidates, and how many
 * tie.
 */
export const Best = z.object({
  in_flight: z.int().min(0),
  max_concurrent: z.int().min(0),
  workers: z.int().min(1),
});
export type Best = z.infer<typeof Best>;

/**
 * What hubs tell each other. Messages may be lost, and may come late: nothing is decided by one, a message only makes
 * the listener look (rules/cluster#nothing-is-decided-by-a-message). An unknown type is skipped, because versions mix
 * during a rolling update.
 */
export const HubMessage = z.discriminatedUnion("type", [
  /** A hub has started and wants the others to answer. */
  z.object({ type: z.literal("hello"), from }),
  /** A hub stops. */
  z.object({ type: z.literal("bye"), from }),
  /** Jobs are queued that the sender has no lane for; `jobs`: those that a POST still waits for. */
  z.object({ type: z.literal("wake"), from, jobs: z.array(job_id).max(MAX_WAKE_JOBS) }),
  /** A queued job that only hub `to` can run, because its session is there (attach_to_job). */
  z.object({ type: z.literal("attach"), from, to: z.string().max(64), job_id }),
  /** A worker has accepted the job. */
  z.object({ type: z.literal("job_taken"), from, job_id }),
  /** The job has ended; the lease and session are those it ran under. */
  z.object({
    type: z.literal("job_ended"),
    from,
    job_id,
    status: JobStatus,
    worker_id: z.string().max(64).nullable(),
    lease_token: z.int().nullable(),
    session_id: z.string().max(64).nullable(),
  }),
  /** The job was deleted: a session it left open ends. */
  z.object({ type: z.literal("job_removed"), from, job_id, session_id: z.string().max(64) }),
  /** The worker has dialled the sender: hub `to` drops its link of that incarnation, and answers link_dropped. */
  z.object({
    type: z.literal("link_taken"),
    from,
    to: z.string().max(64),
    worker_id,
    instance_id: z.string().max(64),
  }),
  z.object({ type: z.literal("link_dropped"), from, worker_id }),
  /** An operator has set the worker's status. */
  z.object({ type: z.literal("worker_status"), from, worker_id, status: WorkerStatus }),
  /** The sender's best free candidate; null when the sender can take no job. */
  z.object({ type: z.literal("candidate"), from, best: Best.nullable() }),
]);
export type HubMessage = z.infer<typeof HubMessage>;

/** A message before its sender's name is added. */
export type HubNews = HubMessage extends infer M
  ? M extends { from: string }
    ? Omit<M, "from">
    : never
  : never;
