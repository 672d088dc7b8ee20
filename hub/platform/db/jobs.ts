import {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  isNull,
  like,
  lte,
  ne,
  notInArray,
  or,
  type SQL,
  sql,
  sum,
} from "drizzle-orm";
import { cleanText } from "#drizzle/clean.ts";
import { TERMINAL } from "#shared/protocol/schema/job.ts";
import type { Conn } from "./conn.ts";
import type { FinishJob, JobsRepo, QueuedModes } from "./fleet-types.ts";
import {
  batchJobs,
  CLAIMED,
  type Claimed,
  ENDED,
  type Ended,
  type JobStatements,
} from "./jobs-batch.ts";
import { insertWith } from "./jobs-insert.ts";
import { notBefore } from "./not-before.ts";
import { once } from "./once.ts";
import type { JobRow } from "./rows.ts";

const first = <T>(rows: T[]): T | null => rows[0] ?? null;

/** `%` and `_` of the text mean themselves in a LIKE pattern (with `escape '\'`). */
const likePart = (text: string): string => `%${cleanText(text).replace(/[\\%_]/g, "\\$&")}%`;

const isWhole = (end: Partial<Ended>): end is Ended =>
  Object.keys(ENDED).every((name) => end[name as keyof Ended] !== undefined);

/** A named hole for each column. Drizzle takes one wherever a value of any type may stand. */
const placeholders = <T>(columns: Record<keyof T & string, unknown>): T =>
  Object.fromEntries(Object.keys(columns).map((name) => [name, sql.placeholder(name)])) as T;

export function jobsRepo(conn: Conn): JobsRepo {
  const {
    q,
    t: { jobs },
  } = conn;
  const waiting = and(eq(jobs.status, "queued"), isNull(jobs.worker_id));
  const heldBy = (job_id: string, lease_token: number) =>
    and(eq(jobs.job_id, job_id), eq(jobs.status, "running"), eq(jobs.lease_token, lease_token));
  /** SQLite's LIKE ignores the case of ASCII letters, Postgres' does not: lower both; other letters match as written. */
  const urlHas = (text: string): SQL =>
    sql`(${like(sql`lower(${jobs.url})`, likePart(text.toLowerCase()))} escape '\\' or ${like(jobs.url, likePart(text))} escape '\\')`;
  /** A row value uses the index on both dialects; `a < x or (a = x and b < y)` does not. */
  const position = sql`(${jobs.created_at}, ${jobs.job_id})`;
  const ended = ({ now, ...end }: FinishJob) => ({ ...end, finished_at: now });
  const begun = sql`coalesce(${jobs.started_at}, ${jobs.created_at})`;
  const finishedAt = (now: unknown) => notBefore(begun, now);

  /** Few at any time; said as a subquery so that the planner starts here, not at the worker's whole history. */
  const running = q.select({ job_id: jobs.job_id }).from(jobs).where(eq(jobs.status, "running"));

  const failRunning = async (error: string, now: number, ...of: SQL[]) =>
    q
      .update(jobs)
      .set({ status: "failed", error, finished_at: finishedAt(now) })
      .where(and(eq(jobs.status, "running"), ...of))
      .returning();

  // The statements of every job are built once, when first used: building one takes longer than running it.
  const insert = once(() =>
    q
      .insert(jobs)
      .values(placeholders<JobRow>(getTableColumns(jobs)))
      .prepare("insert_job"),
  );
  const get = once(() =>
    q
      .select()
      .from(jobs)
      .where(eq(jobs.job_id, sql.placeholder("job_id")))
      .prepare("get_job"),
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
      .where(and(eq(jobs.job_id, sql.placeholder("job_id")), waiting))
      .returning()
      .prepare("claim_job"),
  );
  const oldestOf = (modes: QueuedModes, of?: SQL) =>
    once(() =>
      q
        .select()
        .from(jobs)
        .where(and(waiting, lte(jobs.created_at, sql.placeholder("created_before")), of))
        .orderBy(asc(jobs.created_at), asc(jobs.job_id))
        .limit(sql.placeholder("limit"))
        .prepare(`oldest_queued_${modes}`),
    );
  const scripted = ne(jobs.mode, "fetch");
  const fetching = eq(jobs.mode, "fetch");
  const oldEnough = lte(jobs.created_at, sql.placeholder("scripted_before"));
  const oldestQueued = {
    all: oldestOf("all", or(fetching, oldEnough)),
    fetch: oldestOf("fetch", fetching),
    scripted: oldestOf("scripted", and(scripted, oldEnough)),
  };
  const heldByGiven = and(
    eq(jobs.job_id, sql.placeholder("job_id")),
    eq(jobs.status, "running"),
    eq(jobs.lease_token, sql.placeholder("held_token")),
  );
  const setStage = once(() =>
    q
      .update(jobs)
      .set(placeholders<Pick<JobRow, "stage">>({ stage: true }))
      .where(heldByGiven)
      .prepare("set_stage"),
  );
  const finishWhole = once(() =>
    q
      .update(jobs)
      .set({
        ...placeholders<Ended>(ENDED),
        finished_at: finishedAt(sql.placeholder("finished_at")),
      })
      .where(heldByGiven)
      .returning()
      .prepare("finish_job"),
  );
  const singles: JobStatements = {
    get: async (job_id) => first(await get().execute({ job_id })),
    insert: async (row) => {
      await insert().execute(row);
    },
    claim: async (lane) => first(await claim().execute(lane)),
    finish: async (end) => first(await finishWhole().execute(end)),
  };
  const statements = conn.dialect === "postgres" ? batchJobs(conn, singles) : singles;
  return {
    insert: statements.insert,
    insertWith: insertWith(conn),
    get: statements.get,
    list: async (filter, before) =>
      q
        .select()
        .from(jobs)
        .where(
          and(
            filter.status === undefined ? undefined : eq(jobs.status, filter.status),
            filter.mode === undefined ? undefined : eq(jobs.mode, filter.mode),
            filter.host === undefined ? undefined : eq(jobs.host, filter.host),
            filter.worker_id === undefined ? undefined : eq(jobs.worker_id, filter.worker_id),
            filter.q === undefined || filter.q === "" ? undefined : urlHas(filter.q),
            filter.since === undefined ? undefined : gte(jobs.created_at, filter.since),
            filter.until === undefined ? undefined : lte(jobs.created_at, filter.until),
            before === null
              ? undefined
              : sql`${position} < (${sql.param(before.created_at, jobs.created_at)}, ${sql.param(before.job_id, jobs.job_id)})`,
          ),
        )
        .orderBy(desc(jobs.created_at), desc(jobs.job_id))
        .limit(filter.limit),
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
        .where(heldBy(job_id, lease_token))
        .returning()
        .then(first<JobRow>),
    finish: async (job_id, lease_token, end) => {
      const set = ended(end);
      // A worker's result says everything; who fails a job for it leaves what is known of the page alone.
      if (isWhole(set)) return statements.finish({ ...set, job_id, held_token: lease_token });
      return q
        .update(jobs)
        .set({ ...set, finished_at: finishedAt(end.now) })
        .where(heldBy(job_id, lease_token))
        .returning()
        .then(first<JobRow>);
    },
    finishQueued: (job_id, end) =>
      q
        .update(jobs)
        .set({ ...ended(end), finished_at: finishedAt(end.now) })
        .where(and(eq(jobs.job_id, job_id), waiting))
        .returning()
        .then(first<JobRow>),
    failRunningOf: (worker_id, error, now) =>
      failRunning(error, now, eq(jobs.worker_id, worker_id), inArray(jobs.job_id, running)),
    takeUp: (job_id, lease_token, hub_id) =>
      q
        .update(jobs)
        .set({ hub_id })
        .where(heldBy(job_id, lease_token))
        .returning()
        .then(first<JobRow>),
    failRunningUnder: async ({ hub_id, worker_id, tokens }, error, now) => {
      if (tokens.length === 0) return [];
      const under = inArray(jobs.lease_token, tokens);
      const of = [eq(jobs.hub_id, hub_id), eq(jobs.worker_id, worker_id)];
      return failRunning(error, now, ...of, under, inArray(jobs.job_id, running));
    },
    failAllRunning: (error, now, except = []) =>
      failRunning(error, now, ...(except.length > 0 ? [notInArray(jobs.worker_id, except)] : [])),
    runningBefore: async (created_before, limit) =>
      q
        .select()
        .from(jobs)
        .where(and(eq(jobs.status, "running"), lte(jobs.created_at, created_before)))
        .orderBy(asc(jobs.created_at), asc(jobs.job_id))
        .limit(limit),
    runningAmong: async (job_ids) => {
      if (job_ids.length === 0) return [];
      return q
        .select({ job_id: jobs.job_id, lease_token: jobs.lease_token })
        .from(jobs)
        .where(and(eq(jobs.status, "running"), inArray(jobs.job_id, job_ids)));
    },
    oldestQueued: async (created_before, limit, modes = "all", scripted_before = created_before) =>
      oldestQueued[modes]().execute({ created_before, scripted_before, limit }),
    markQueued: async (job_id, stage) => {
      const marked = await q
        .update(jobs)
        .set({ stage })
        .where(and(eq(jobs.job_id, job_id), waiting, isNull(jobs.stage)))
        .returning({ job_id: jobs.job_id });
      return marked.length > 0;
    },
    runningScripts: async () => {
      const [row] = await q
        .select({ scripts: count() })
        .from(jobs)
        .where(and(eq(jobs.status, "running"), scripted));
      return row?.scripts ?? 0;
    },
    queuePosition: async (job_id) => {
      const own = q
        .select({ created_at: jobs.created_at, job_id: jobs.job_id })
        .from(jobs)
        .where(and(eq(jobs.job_id, job_id), waiting));
      const [row] = await q
        .select({ ahead: count() })
        .from(jobs)
        .where(and(waiting, sql`${position} <= ${own}`));
      return row?.ahead || null;
    },
    setStage: async (job_id, lease_token, stage) => {
      await setStage().execute({ stage, job_id, held_token: lease_token });
    },
    oldestEnded: async ({ ended_before, with_assets = false, limit }) => {
      const old =
        ended_before === undefined
          ? undefined
          : [
              // No job ends before it is made: what the index can tell.
              lte(jobs.created_at, ended_before),
              lte(jobs.finished_at, ended_before),
            ];
      // Of each status by itself: together they have no order that an index knows.
      const found = await Promise.all(
        TERMINAL.map((status) =>
          q
            .select({
              ...{ job_id: jobs.job_id, created_at: jobs.created_at },
              asset_bytes: jobs.asset_bytes,
            })
            .from(jobs)
            .where(
              and(
                eq(jobs.status, status),
                ...(old ?? []),
                with_assets ? gt(jobs.asset_bytes, 0) : undefined,
              ),
            )
            .orderBy(asc(jobs.created_at), asc(jobs.job_id))
            .limit(limit),
        ),
      );
      return found
        .flat()
        .sort((a, b) => a.created_at - b.created_at)
        .slice(0, limit);
    },
    assetBytes: async () => {
      const [row] = await q.select({ bytes: sum(jobs.asset_bytes) }).from(jobs);
      return Number(row?.bytes ?? 0);
    },
    deleteTerminal: async (job_id) => {
      const gone = await q
        .delete(jobs)
        .where(and(eq(jobs.job_id, job_id), inArray(jobs.status, [...TERMINAL])))
        .returning({ job_id: jobs.job_id });
      return gone.length > 0;
    },
  };
}
