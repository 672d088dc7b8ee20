import { and, asc, desc, type SQL, sql } from "drizzle-orm";
import { amongFound } from "./among-found.ts";
import type { Conn } from "./conn.ts";
import { searchWords } from "./jobs/words-of-jobs.ts";
import { hasWords } from "./search-conditions.ts";
import { foundRuns, foundTasks } from "./search-pipeline.ts";
import type { NamedRow, NamedTable, SearchRepo } from "./search-types.ts";

/** Sessions that one search reads at most, the newest. */
const MOST_SESSIONS = 5_000;

const jobsById = ({ q, t: { jobs } }: Conn): SearchRepo["jobsById"] => {
  return async (prefix, limit) => {
    const rows = await q
      .select()
      .from(jobs)
      .where(sql`${jobs.job_id} >= ${prefix}`)
      .orderBy(asc(jobs.job_id))
      .limit(limit);
    return rows.filter(({ job_id }) => job_id.startsWith(prefix));
  };
};

const sessions = (conn: Conn): SearchRepo["sessions"] => {
  const {
    q,
    t: { sessions: s },
  } = conn;
  return async (text, limit) => {
    const words = searchWords(text);
    if (words.length === 0) return [];
    const newest = sql`select session_id from (select session_id from ${s} order by ended_at desc limit ${MOST_SESSIONS}) as newest`;
    const open = sql`select session_id from (select session_id from ${s} where ended_at is null limit ${MOST_SESSIONS}) as open`;
    const said = sql`(${s.session_id} || ' ' || ${s.title} || ' ' || ${s.url} || ' ' || coalesce(${s.opened_by}, ''))`;
    return q
      .select()
      .from(s)
      .where(
        and(
          amongFound(conn, s.session_id, sql`${open} union all ${newest}`),
          hasWords(said, words),
        ),
      )
      .orderBy(desc(s.created_at))
      .limit(limit);
  };
};

const NONE = sql`null`;

/** Of each table: its id, what people call it, what else is searched and shown, its state and its time. */
const NAMED: Record<NamedTable, Record<"id" | "title" | "detail" | "state" | "at", SQL>> = {
  hosts: row("host", "host", "notes", NONE, sql`updated_at`),
  profiles: row("name", "name", "coalesce(source_browser, '')", NONE, sql`updated_at`),
  presets: row("slug", "name", "description", NONE, sql`updated_at`),
  skills: row("slug", "name", "description", NONE, sql`updated_at`),
  engines: row("slug", "name", "model", NONE, sql`updated_at`),
  watches: row("watch_id", "name", "url", NONE, sql`updated_at`),
  workers: row("worker_id", "hostname", "address", sql`status`, sql`last_seen_at`),
  pull_workers: row("worker_id", "host", "version", NONE, sql`last_heartbeat_at`),
  agents: row("host", "host", "coalesce(agent_id, '')", NONE, sql`last_seen_at`),
};

function row(id: string, title: string, detail: string, state: SQL, at: SQL) {
  return { id: sql.raw(id), title: sql.raw(title), detail: sql.raw(detail), state, at };
}

const named = ({ q, t }: Conn): SearchRepo["named"] => {
  return async (table, asked, limit) => {
    const words = searchWords(asked);
    if (words.length === 0) return [];
    const { id, title, detail, state, at } = NAMED[table];
    const all = sql`(${id} || ' ' || ${title} || ' ' || substr(${detail}, 1, 2000))`;
    const rows = await q
      .select({
        id: sql<string>`${id}`.as("id_"),
        title: sql<string>`${title}`.as("title_"),
        detail: sql<string>`substr(${detail}, 1, 200)`.as("detail_"),
        state: sql<string | null>`${state}`.as("state_"),
        at: sql<number | string | null>`${at}`.as("at_"),
      })
      .from(t[table])
      .where(hasWords(all, words))
      .limit(limit);
    return rows.map(
      (found): NamedRow => ({
        ...found,
        title: found.title === "" ? found.id : found.title,
        at: found.at === null ? null : Number(found.at),
      }),
    );
  };
};

export const searchRepo = (conn: Conn): SearchRepo => ({
  jobsById: jobsById(conn),
  sessions: sessions(conn),
  named: named(conn),
  tasks: foundTasks(conn),
  runs: foundRuns(conn),
});
