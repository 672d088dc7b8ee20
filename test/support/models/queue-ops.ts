import { asc } from "drizzle-orm";
import { RUN_OUTCOMES } from "#drizzle/tables/runs.ts";
import type {
  AttemptRef,
  Claim,
  ClaimedTask,
  ClaimOp,
  DoneTask,
  FailedTask,
} from "#hub/platform/db/queue/queue-store.ts";
import { type QueueRig, task } from "./queue-store.ts";

/** Operations of the queue with everything in them that a test does not care for, and what it looks at afterwards. */

const NOTHING = { stdout: "", stderr: "", truncated: false, duration_ms: 5 };
export const refOf = ({ task_id, epoch }: AttemptRef): AttemptRef => ({ task_id, epoch });
export const givenBack = (ref: AttemptRef) => ({ ...refOf(ref), retry_after_ms: null, reason: "" });
export const done = (ref: AttemptRef, more: Partial<DoneTask> = {}): DoneTask => ({
  ...refOf(ref),
  ...NOTHING,
  output: null,
  ...more,
});
export const failed = (ref: AttemptRef, more: Partial<FailedTask> = {}): FailedTask => ({
  ...refOf(ref),
  ...NOTHING,
  outcome: "error",
  error: "it broke",
  retry_after_ms: null,
  no_retry: false,
  ...more,
});
export const claimOp = (workload_id: number, more: Partial<ClaimOp> = {}): ClaimOp => ({
  op: "claim",
  worker: "w1",
  worker_id: "worker-1",
  workload_id,
  max: 10,
  lease_ms: 60_000,
  timeout_ms: null,
  max_in_flight: null,
  rate_limit: null,
  ...more,
});
export const pks = (tasks: ClaimedTask[]) => tasks.map(({ pk }) => pk);
export const claimed = async (rig: QueueRig, op: ClaimOp): Promise<ClaimedTask[]> =>
  (await rig.call(op)).tasks;
export const tasksOf = (results: unknown[]): ClaimedTask[][] =>
  (results as Claim[]).map(({ tasks }) => tasks);

export async function counts(rig: QueueRig, workload_id: number) {
  const [row] = await rig.store.counts(workload_id);
  const {
    ready,
    claimed,
    failed: broken,
    delayed,
  } = row ?? {
    ready: 0,
    claimed: 0,
    failed: 0,
    delayed: 0,
  };
  return { ready, claimed, failed: broken, delayed };
}

export const runsOf = async (rig: QueueRig) => {
  const { runs } = rig.conn.t;
  const rows = await rig.conn.q.select().from(runs).orderBy(asc(runs.run_id));
  return rows.map((row) => ({
    pk: row.pk,
    attempt: row.attempt,
    outcome: RUN_OUTCOMES[row.outcome],
    error: row.error,
  }));
};

export async function submitAndClaim(
  rig: QueueRig,
  names: string[],
  more: Partial<ClaimOp> = {},
): Promise<{ id: number; tasks: ClaimedTask[] }> {
  const id = await rig.addWorkload("work");
  await rig.call({ op: "submit", workload_id: id, tasks: names.map((pk) => task(pk)) });
  return { id, tasks: await claimed(rig, claimOp(id, more)) };
}
