import { and, between, desc, eq, gt, gte, inArray, isNotNull, sql } from "drizzle-orm";
import { FIRST_HTTP_ERROR } from "#shared/protocol/limits.ts";
import { TERMINAL } from "#shared/protocol/schema/job.ts";
import type { Conn } from "./conn.ts";
import type { JobRow } from "./rows.ts";

/** What the figures need to know of a capture. */
export type CaptureFacts = Pick<
  JobRow,
  | "job_id"
  | "status"
  | "host"
  | "url"
  | "final_url"
  | "http_status"
  | "error"
  | "created_at"
  | "started_at"
  | "finished_at"
>;

/** Counts for the first page of the app; what grows with the fleet is counted within a time, by the index of creation. */
export interface FiguresRepo {
  /** Jobs created in this time, both ends included, by status and whether their page answered with an error. */
  counts(
    from: number,
    until: number,
  ): Promise<{ status: JobRow["status"]; http_error: boolean; n: number }[]>;
  /** Hosts whose captures of this time failed or answered with an error, most of them first. */
  failingHosts(from: number, until: number, limit: number): Promise<{ host: string; n: number }[]>;
  /** Captures that have ended, the last to be created first. */
  newest(created_from: number, limit: number, host?: string): Promise<CaptureFacts[]>;
  queue(): Promise<{ queued: number; oldest: number | null }>;
  /** Bytes of bodies and of recordings that came since. */
  bytesSince(since: number): Promise<{ bodies: number; recordings: number; first: number | null }>;
  /** Of profiles, and of the database itself. */
  otherBytes(): Promise<{ profiles: number; database: number }>;
  /** Whether there is a job, and whether a session was ever opened. */
  begun(): Promise<{ captured: boolean; session: boolean }>;
}

const count = sql`count(*)`.mapWith(Number);
const toNumber = (value: unknown) => Number(value ?? 0);

export function figuresRepo(conn: Conn): FiguresRepo {
  const { q, t } = conn;
  const { jobs, sessions } = t;
  // An error of its page counts where it completed: one that failed has failed.
  const is_error = sql<number>`case when ${jobs.status} = 'completed' and ${jobs.http_status} >= ${sql.raw(String(FIRST_HTTP_ERROR))} then 1 else 0 end`;
  return {
    counts: async (from, until) => {
      const rows = await q
        .select({ status: jobs.status, http_error: is_error, n: count })
        .from(jobs)
        .where(between(jobs.created_at, from, until))
        .groupBy(jobs.status, is_error);
      return rows.map((row) => ({ ...row, http_error: Number(row.http_error) === 1 }));
    },
    failingHosts: (from, until, limit) =>
      q
        .select({ host: jobs.host, n: count })
        .from(jobs)
        .where(
          and(
            between(jobs.created_at, from, until),
            sql`(${eq(jobs.status, "failed")} or ${is_error} = 1)`,
          ),
        )
        .groupBy(jobs.host)
        .orderBy(sql`count(*) desc`, jobs.host)
        .limit(limit),
    newest: (created_from, limit, host) =>
      q
        .select({
          job_id: jobs.job_id,
          status: jobs.status,
          host: jobs.host,
          url: jobs.url,
          final_url: jobs.final_url,
          http_status: jobs.http_status,
          error: jobs.error,
          created_at: jobs.created_at,
          started_at: jobs.started_at,
          finished_at: jobs.finished_at,
        })
        .from(jobs)
        .where(
          and(
            host === undefined ? undefined : eq(jobs.host, host),
            gte(jobs.created_at, created_from),
            inArray(jobs.status, [...TERMINAL]),
          ),
        )
        .orderBy(desc(jobs.created_at), desc(jobs.job_id))
        .limit(limit),
    queue: async () => {
      const [row] = await q
        .select({ queued: count, oldest: sql<unknown>`min(${jobs.created_at})` })
        .from(jobs)
        .where(eq(jobs.status, "queued"));
      const oldest = row?.oldest ?? null;
      return { queued: row?.queued ?? 0, oldest: oldest === null ? null : Number(oldest) };
    },
    bytesSince: bytesSince(conn),
    otherBytes: otherBytes(conn),
    begun: async () => {
      const [job, session] = await Promise.all([
        q.select({ id: jobs.job_id }).from(jobs).limit(1),
        q.select({ id: sessions.session_id }).from(sessions).limit(1),
      ]);
      return { captured: job.length > 0, session: session.length > 0 };
    },
  };
}

function bytesSince({ q, t: { jobs, recordings } }: Conn): FiguresRepo["bytesSince"] {
  return async (since) => {
    const [bodies, kept] = await Promise.all([
      q
        .select({
          bytes: sql<unknown>`sum(${jobs.asset_bytes} + ${jobs.document_bytes})`,
          first: sql<unknown>`min(${jobs.created_at})`,
        })
        .from(jobs)
        .where(gt(jobs.created_at, since)),
      q
        .select({ bytes: sql<unknown>`sum(${recordings.sealed} + ${recordings.body_bytes})` })
        .from(recordings)
        // Live ones come with their end, which has an index.
        .where(and(isNotNull(recordings.ended_at), gt(recordings.ended_at, since))),
    ]);
    const first = bodies[0]?.first ?? null;
    return {
      bodies: toNumber(bodies[0]?.bytes),
      recordings: toNumber(kept[0]?.bytes),
      first: first === null ? null : Number(first),
    };
  };
}

function otherBytes({ q, t: { profiles }, dialect }: Conn): FiguresRepo["otherBytes"] {
  const size =
    dialect === "postgres"
      ? sql<unknown>`pg_database_size(current_database())`
      : sql<unknown>`(select page_count * page_size from pragma_page_count(), pragma_page_size())`;
  return async () => {
    const [row] = await q
      .select({ profiles: sql<unknown>`coalesce(sum(${profiles.size}), 0)`, database: size })
      .from(profiles);
    return { profiles: toNumber(row?.profiles), database: toNumber(row?.database) };
  };
}
