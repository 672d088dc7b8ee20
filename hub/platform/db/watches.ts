import { and, asc, count, desc, eq, inArray, isNotNull, isNull, lte, or, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import { first } from "./first.ts";
import { rowValues } from "./row-values.ts";
import type { WatchRow } from "./rows.ts";
import type { CaptureOutcome, WatchesRepo } from "./watch-types.ts";

export function watchesRepo(conn: Conn): WatchesRepo {
  const {
    q,
    t: { watches, jobs },
  } = conn;
  const { watch_id, next_at, capturing, taken_until } = watches;
  const due = (id: string, at: number) => and(eq(watch_id, id), eq(next_at, at));
  return {
    insert: async (row, most) => {
      const all = q.select({ n: count() }).from(watches);
      const stored = await q
        .insert(watches)
        .select(sql`select ${rowValues(watches, row)} where (${all}) < ${most}`)
        .returning({ watch_id });
      return stored.length > 0;
    },
    get: (id) =>
      q
        .select()
        .from(watches)
        .where(eq(watch_id, id))
        .then(first<WatchRow>),
    list: () => q.select().from(watches).orderBy(asc(watches.created_at), asc(watch_id)),
    change: (id, was, fields) =>
      q
        .update(watches)
        .set(fields)
        .where(and(eq(watch_id, id), eq(watches.updated_at, was)))
        .returning()
        .then(first<WatchRow>),
    delete: async (id) =>
      (await q.delete(watches).where(eq(watch_id, id)).returning({ watch_id })).length > 0,
    pending: () =>
      q
        .select({
          watch_id,
          next_at,
          capturing,
          job_status: jobs.status,
          finished_at: jobs.finished_at,
        })
        .from(watches)
        .leftJoin(jobs, eq(jobs.job_id, capturing))
        .where(or(isNotNull(next_at), isNotNull(capturing))),
    pass: async (id, due_at, left) => {
      const passed = await q
        .update(watches)
        .set(left)
        .where(and(due(id, due_at), isNull(capturing)))
        .returning({ watch_id });
      return passed.length > 0;
    },
    take: (id, job_id, now, until) =>
      q
        .update(watches)
        .set({ taken_until: until })
        .where(and(eq(watch_id, id), eq(capturing, job_id), lte(taken_until, now)))
        .returning()
        .then(first<WatchRow>),
    ...decided(conn),
  };
}

/** What a watch keeps of its last capture. */
function lastOf({ watches, jobs }: Conn["t"], job_id: string, outcome: CaptureOutcome) {
  const { status, at, changed, failed, is_baseline, last_error } = outcome;
  return {
    last_job_id: job_id,
    last_status: status,
    last_at: at,
    last_changed: changed,
    last_error,
    // Somebody may have given the watch another page since that was decided.
    ...(is_baseline && {
      baseline: sql`case when ${watches.url} = (select ${jobs.url} from ${jobs} where ${jobs.job_id} = ${job_id}) then ${job_id} else ${watches.baseline} end`,
    }),
    ...(changed && {
      changed_job_id: job_id,
      changed_at: at,
      changes: sql`${watches.changes} + 1`,
    }),
    ...(status === "completed" && { captures: sql`${watches.captures} + 1` }),
    ...(failed === false && { failing_since: null, failures: 0 }),
    ...(failed && {
      failing_since: sql`coalesce(${watches.failing_since}, ${sql.param(at, watches.failing_since)})`,
      failures: sql`${watches.failures} + 1`,
    }),
  };
}

/** What became of captures. */
function decided({ q, t, atomic, lockRows }: Conn): Pick<WatchesRepo, "settle" | "beyond"> {
  const { watches, jobs } = t;
  const { watch_id, capturing } = watches;
  return {
    settle: async (id, job_id, outcome) => {
      const under_way = and(eq(watch_id, id), eq(capturing, job_id));
      const { changed = null, changes = null } = outcome ?? {};
      const results = await atomic([
        // When two hubs have decided, the second waits here and then finds that it is not under way.
        lockRows(q.select({ watch_id }).from(watches).where(under_way)),
        q
          .update(jobs)
          .set({ changed, changes })
          .where(
            and(eq(jobs.job_id, job_id), sql`exists (select 1 from ${watches} where ${under_way})`),
          ),
        q
          .update(watches)
          .set({
            ...(outcome && lastOf(t, job_id, outcome)),
            capturing: null,
            taken_until: 0,
          })
          .where(under_way)
          .returning({ watch_id }),
      ]);
      if ((results.at(-1) ?? []).length === 0) return null;
      return q
        .select()
        .from(watches)
        .where(eq(watch_id, id))
        .then(first<WatchRow>);
    },
    beyond: async (id, keep, limit) => {
      const kept = q.select({ baseline: watches.baseline }).from(watches).where(eq(watch_id, id));
      const older = (statuses: readonly ("completed" | "failed" | "cancelled")[]) =>
        q
          .select({ job_id: jobs.job_id })
          .from(jobs)
          .where(
            and(
              eq(jobs.watch_id, id),
              inArray(jobs.status, [...statuses]),
              sql`${jobs.job_id} <> coalesce((${kept}), '')`,
            ),
          )
          .orderBy(desc(jobs.created_at), desc(jobs.job_id))
          .offset(keep)
          .limit(limit);
      // The baseline is one of those that completed, and is not counted.
      const found = await Promise.all([older(["completed"]), older(["failed", "cancelled"])]);
      return found
        .flat()
        .slice(0, limit)
        .map(({ job_id }) => job_id);
    },
  };
}
