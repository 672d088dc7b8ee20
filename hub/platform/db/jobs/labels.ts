import { and, eq, isNull, sql } from "drizzle-orm";
import type { LabelFilter } from "#shared/protocol/label-text.ts";
import type { Labels } from "#shared/protocol/schema/labels.ts";
import type { Conn, Statement } from "../conn.ts";
import type { JobsRepo } from "../fleet-types.ts";
import { rowValues } from "../row-values.ts";
import type { JobRow } from "../rows.ts";

type Labelled = Pick<JobRow, "job_id" | "labels" | "created_at">;

/** A row for each label of the job, if by then the job is stored and has exactly these labels. */
export function insertLabels({ q, t: { jobs, job_labels } }: Conn, row: Labelled): Statement[] {
  const { job_id, created_at } = row;
  const theirs = hasLabels({ jobs }, row.labels);
  return Object.entries(row.labels ?? {}).map(([key, value]) =>
    q
      .insert(job_labels)
      .select(
        sql`select ${rowValues(job_labels, { job_id, key, value, created_at })} from ${jobs} where ${and(eq(jobs.job_id, job_id), theirs)}`,
      ),
  );
}

const hasLabels = ({ jobs }: Pick<Conn["t"], "jobs">, labels: Labels | null) =>
  labels === null ? isNull(jobs.labels) : eq(jobs.labels, labels);

/** The labels, on the job and in the rows that lists look for; null when others were stored meanwhile. */
export function replaceLabels(conn: Conn): JobsRepo["replaceLabels"] {
  const {
    q,
    t: { jobs, job_labels },
    atomic,
  } = conn;
  return async (row, labels) => {
    const is = eq(jobs.job_id, row.job_id);
    const now = sql`exists (select 1 from ${jobs} where ${and(is, hasLabels(conn.t, labels))})`;
    const [changed] = await atomic([
      q
        .update(jobs)
        .set({ labels })
        .where(and(is, hasLabels(conn.t, row.labels)))
        .returning({ job_id: jobs.job_id }),
      q.delete(job_labels).where(and(eq(job_labels.job_id, row.job_id), now)),
      ...insertLabels(conn, { ...row, labels }),
    ]);
    return (changed ?? []).length > 0;
  };
}

/** Jobs that have the label; by its index when it is the first thing that is asked for. */
export const labelledJobs = ({ t: { jobs, job_labels: l } }: Conn, label: LabelFilter) =>
  sql`exists (select 1 from ${l} where ${and(
    eq(l.job_id, jobs.job_id),
    eq(l.key, label.key),
    label.value === null ? undefined : eq(l.value, label.value),
  )})`;
