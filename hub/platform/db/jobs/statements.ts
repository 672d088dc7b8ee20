import { and, eq, getTableColumns, sql } from "drizzle-orm";
import { once } from "#shared/kit/once.ts";
import type { Conn } from "../conn.ts";
import { first } from "../first.ts";
import { notBefore } from "../not-before.ts";
import type { JobRow } from "../rows.ts";
import { finishedAt, heldBy, waiting } from "./which.ts";

/** The statements of every job, each built once, when first used, because building one takes longer than running it. */

/** The columns a claim and an end write; also the names of a single statement's holes. */
export const CLAIMED = {
  worker_id: true,
  lane_idx: true,
  session_id: true,
  novnc_url: true,
  lease_token: true,
  hub_id: true,
  started_at: true,
} as const;
export const ENDED = {
  status: true,
  error: true,
  finished_at: true,
  stage: true,
  http_status: true,
  final_url: true,
  title: true,
  capture: true,
  final_state: true,
  fingerprint: true,
} as const;
type Claimed = Pick<JobRow, keyof typeof CLAIMED>;
export type Ended = Pick<JobRow, keyof typeof ENDED>;

/** Statements for one job. `held_token` is the lease under which it must run. */
export interface JobStatements {
  get(job_id: string): Promise<JobRow | null>;
  insert(row: JobRow): Promise<void>;
  claim(lane: Claimed & { job_id: string }): Promise<JobRow | null>;
  finish(end: Ended & { job_id: string; held_token: number }): Promise<JobRow | null>;
}

/** A named hole for each column. Drizzle takes one wherever a value of any type may stand. */
export const placeholders = <T>(columns: Record<keyof T & string, unknown>): T =>
  Object.fromEntries(Object.keys(columns).map((name) => [name, sql.placeholder(name)])) as T;

export function singleStatements({ q, t: { jobs } }: Conn): JobStatements {
  const job_id = sql.placeholder("job_id");
  const get = once(() => q.select().from(jobs).where(eq(jobs.job_id, job_id)).prepare("get_job"));
  const insert = once(() =>
    q
      .insert(jobs)
      .values(placeholders<JobRow>(getTableColumns(jobs)))
      .prepare("insert_job"),
  );
  const claim = once(() =>
    q
      .update(jobs)
      .set({
        ...placeholders<Claimed>(CLAIMED),
        status: "running",
        stage: null,
        started_at: notBefore(jobs.created_at, sql.placeholder("started_at")),
      })
      .where(and(eq(jobs.job_id, job_id), waiting(jobs)))
      .returning()
      .prepare("claim_job"),
  );
  const finish = once(() =>
    q
      .update(jobs)
      .set({
        ...placeholders<Ended>(ENDED),
        finished_at: finishedAt(jobs, sql.placeholder("finished_at")),
      })
      .where(heldBy(jobs, job_id, sql.placeholder("held_token")))
      .returning()
      .prepare("finish_job"),
  );
  return {
    get: async (id) => first(await get().execute({ job_id: id })),
    insert: async (row) => {
      await insert().execute(row);
    },
    claim: async (lane) => first(await claim().execute(lane)),
    finish: async (end) => first(await finish().execute(end)),
  };
}
