import { and, desc, eq, gte, inArray, isNull, type SQL, sql } from "drizzle-orm";
import { RUN_OUTCOMES } from "#drizzle/tables/runs.ts";
import type { Conn } from "../conn.ts";
import { has } from "../like.ts";
import { firstOfEach } from "./first-of-each.ts";
import type { FailureFilter, RunExample, RunPlace, TriageRepo } from "./triage-repo.ts";

/** What is read of the end of what a run printed: its traceback is there. */
const PRINTED = 16_384;
const CANCELLED = RUN_OUTCOMES.indexOf("cancelled");

type Runs = Conn["t"]["runs"];

const FAILED = sql`outcome <> 0`;
/** A row value, so that the index is entered at the place. */
const beforeOf = (runs: Runs, { finished_at, run_id }: RunPlace): SQL =>
  sql`(${runs.finished_at}, ${runs.run_id}) < (${sql.param(finished_at, runs.finished_at)}, ${sql.param(run_id, runs.run_id)})`;
const fromOf = (runs: Runs, { finished_at, run_id }: RunPlace): SQL =>
  sql`(${runs.finished_at}, ${runs.run_id}) >= (${sql.param(finished_at, runs.finished_at)}, ${sql.param(run_id, runs.run_id)})`;

/** Not by the indexes of these columns, which have not all that is read. */
const filtered = (runs: Runs, filter: FailureFilter): SQL | undefined =>
  and(
    sql`outcome <> ${sql.raw(String(CANCELLED))}`,
    filter.workload_id === undefined
      ? undefined
      : eq(sql`coalesce(${runs.workload_id}, 0)`, filter.workload_id),
    filter.worker_id === undefined ? undefined : eq(runs.worker_id, filter.worker_id),
    filter.fingerprint === undefined
      ? undefined
      : filter.fingerprint === null
        ? isNull(runs.fingerprint)
        : eq(sql`coalesce(${runs.fingerprint}, '')`, filter.fingerprint),
    filter.text === undefined ? undefined : has(runs.error, filter.text),
  );

export function failedRuns(
  conn: Conn,
): Pick<TriageRepo, "placeBefore" | "countFailures" | "firstSeen" | "examples"> {
  const {
    q,
    t: { runs },
  } = conn;
  return {
    placeBefore: async (before, since, n) => {
      const [row] = await q
        .select({ finished_at: runs.finished_at, run_id: runs.run_id })
        .from(runs)
        .where(and(FAILED, beforeOf(runs, before), gte(runs.finished_at, since)))
        .orderBy(desc(runs.finished_at), desc(runs.run_id))
        .limit(1)
        .offset(n - 1);
      return row ?? null;
    },
    countFailures: async ({ before, from, since, bucket_ms }, filter) => {
      // Numbers that the driver binds as fractions would divide to fractions.
      const bucket = sql<number>`cast((${runs.finished_at} - ${sql.param(since, runs.finished_at)}) / ${sql.param(bucket_ms, runs.finished_at)} as bigint)`;
      const of = {
        fingerprint: runs.fingerprint,
        workload_id: runs.workload_id,
        worker_id: runs.worker_id,
      };
      const rows = await q
        .select({
          ...of,
          bucket: bucket.mapWith(Number).as("bucket"),
          n: sql`count(*)`.mapWith(Number),
          first: sql`min(${runs.finished_at})`.mapWith(Number),
          last: sql`max(${runs.finished_at})`.mapWith(Number),
          newest: sql`max(${runs.run_id})`.mapWith(Number),
        })
        .from(runs)
        .where(
          and(
            FAILED,
            beforeOf(runs, before),
            from === null ? undefined : fromOf(runs, from),
            gte(runs.finished_at, since),
            filtered(runs, filter),
          ),
        )
        .groupBy(runs.fingerprint, runs.workload_id, runs.worker_id, sql`bucket`);
      return rows;
    },
    firstSeen: async (fingerprints) => {
      if (fingerprints.length === 0) return new Map();
      const rows = await q
        .select({ fingerprint: runs.fingerprint, at: runs.finished_at })
        .from(runs)
        .where(firstOfEach(conn, runs.fingerprint, runs.run_id, runs.run_id, fingerprints));
      return new Map(rows.map(({ fingerprint, at }) => [fingerprint ?? "", at]));
    },
    examples: (run_ids) => examplesOf(conn, run_ids),
  };
}

async function examplesOf(
  { dialect, q, t: { runs, run_logs, workloads } }: Conn,
  run_ids: readonly number[],
): Promise<RunExample[]> {
  if (run_ids.length === 0) return [];
  const { stderr } = run_logs;
  const end =
    dialect === "sqlite"
      ? sql<string>`coalesce(substr(${stderr}, ${sql.raw(String(-PRINTED))}), '')`
      : sql<string>`coalesce(right(${stderr}, ${sql.raw(String(PRINTED))}), '')`;
  return q
    .select({
      run_id: runs.run_id,
      slug: workloads.slug,
      pk: runs.pk,
      attempt: runs.attempt,
      worker_id: runs.worker_id,
      duration_ms: runs.duration_ms,
      finished_at: runs.finished_at,
      error: runs.error,
      printed: end,
    })
    .from(runs)
    .leftJoin(workloads, eq(workloads.workload_id, runs.workload_id))
    .leftJoin(run_logs, eq(run_logs.run_id, runs.run_id))
    .where(inArray(runs.run_id, [...run_ids]));
}
