import { and, eq, sql } from "drizzle-orm";
import { once } from "#shared/kit/once.ts";
import { fingerprintOf } from "../../failures/fingerprint.ts";
import type { Conn } from "../conn.ts";
import { first } from "../first.ts";
import type { FinishJob, JobsRepo } from "../fleet-types.ts";
import type { JobRow } from "../rows.ts";
import { ENDED, type Ended, type JobStatements, placeholders } from "./statements.ts";
import { finishedAt, heldBy, waiting } from "./which.ts";

const ended = ({ now, ...end }: FinishJob) => ({
  ...end,
  finished_at: now,
  fingerprint: end.status === "failed" ? fingerprintOf(end.error ?? "") : null,
});

const isWhole = (end: Partial<Ended>): end is Ended =>
  Object.keys(ENDED).every((name) => end[name as keyof Ended] !== undefined);

/** A job under its lease, from the claim to the end. */
export function leasedJobs(
  { q, t: { jobs } }: Conn,
  statements: JobStatements,
): Pick<
  JobsRepo,
  "claim" | "unclaim" | "takeUp" | "setStage" | "setAnswer" | "finish" | "finishQueued"
> {
  const setStage = once(() =>
    q
      .update(jobs)
      .set(placeholders<Pick<JobRow, "stage">>({ stage: true }))
      .where(heldBy(jobs, sql.placeholder("job_id"), sql.placeholder("held_token")))
      .prepare("set_stage"),
  );
  return {
    claim: ({ now, ...lane }) => statements.claim({ ...lane, started_at: now }),
    unclaim: (job_id, lease_token) =>
      q
        .update(jobs)
        .set({
          status: "queued",
          worker_id: null,
          lane_idx: null,
          session_id: null,
          novnc_url: null,
          lease_token: null,
          hub_id: null,
          started_at: null,
          stage: null,
        })
        .where(heldBy(jobs, job_id, lease_token))
        .returning()
        .then(first<JobRow>),
    takeUp: (job_id, lease_token, hub_id) =>
      q
        .update(jobs)
        .set({ hub_id })
        .where(heldBy(jobs, job_id, lease_token))
        .returning()
        .then(first<JobRow>),
    setStage: async (job_id, lease_token, stage) => {
      await setStage().execute({ stage, job_id, held_token: lease_token });
    },
    setAnswer: async (job_id, lease_token, answer) => {
      await q
        .update(jobs)
        .set({ answer })
        .where(heldBy(jobs, job_id, lease_token));
    },
    finish: async (job_id, lease_token, end) => {
      const set = ended(end);
      // A worker's result is complete; a hub that fails a job in its place leaves what is known of the page.
      if (isWhole(set)) return statements.finish({ ...set, job_id, held_token: lease_token });
      return q
        .update(jobs)
        .set({ ...set, finished_at: finishedAt(jobs, end.now) })
        .where(heldBy(jobs, job_id, lease_token))
        .returning()
        .then(first<JobRow>);
    },
    finishQueued: (job_id, end) =>
      q
        .update(jobs)
        .set({ ...ended(end), finished_at: finishedAt(jobs, end.now) })
        .where(and(eq(jobs.job_id, job_id), waiting(jobs)))
        .returning()
        .then(first<JobRow>),
  };
}
