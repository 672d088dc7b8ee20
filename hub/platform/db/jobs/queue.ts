import { and, asc, count, eq, isNull, lte, ne, or, type SQL, sql } from "drizzle-orm";
import { once } from "#shared/kit/once.ts";
import type { Conn } from "../conn.ts";
import type { JobsRepo, QueuedModes } from "../fleet-types.ts";
import { position, waiting } from "./which.ts";

/** Oldest first, with a prepared statement for each kind of jobs. */
function oldestQueued({ q, t: { jobs } }: Conn): JobsRepo["oldestQueued"] {
  const oldestOf = (modes: QueuedModes, of?: SQL) =>
    once(() =>
      q
        .select()
        .from(jobs)
        .where(and(waiting(jobs), lte(jobs.created_at, sql.placeholder("created_before")), of))
        .orderBy(asc(jobs.created_at), asc(jobs.job_id))
        .limit(sql.placeholder("limit"))
        .prepare(`oldest_queued_${modes}`),
    );
  const fetching = eq(jobs.mode, "fetch");
  const oldEnough = lte(jobs.created_at, sql.placeholder("scripted_before"));
  const oldest = {
    all: oldestOf("all", or(fetching, oldEnough)),
    fetch: oldestOf("fetch", fetching),
    scripted: oldestOf("scripted", and(ne(jobs.mode, "fetch"), oldEnough)),
  };
  return async (created_before, limit, modes = "all", scripted_before = created_before) =>
    oldest[modes]().execute({ created_before, scripted_before, limit });
}

/** Jobs that wait for a lane. */
export function jobQueue(
  conn: Conn,
): Pick<JobsRepo, "oldestQueued" | "markQueued" | "queuePosition" | "runningScripts"> {
  const {
    q,
    t: { jobs },
  } = conn;
  return {
    oldestQueued: oldestQueued(conn),
    markQueued: async (job_id, stage) => {
      const marked = await q
        .update(jobs)
        .set({ stage })
        .where(and(eq(jobs.job_id, job_id), waiting(jobs), isNull(jobs.stage)))
        .returning({ job_id: jobs.job_id });
      return marked.length > 0;
    },
    queuePosition: async (job_id) => {
      const own = q
        .select({ created_at: jobs.created_at, job_id: jobs.job_id })
        .from(jobs)
        .where(and(eq(jobs.job_id, job_id), waiting(jobs)));
      const [row] = await q
        .select({ ahead: count() })
        .from(jobs)
        .where(and(waiting(jobs), sql`${position(jobs)} <= ${own}`));
      return row?.ahead || null;
    },
    runningScripts: async () => {
      const [row] = await q
        .select({ scripts: count() })
        .from(jobs)
        .where(and(eq(jobs.status, "running"), ne(jobs.mode, "fetch")));
      return row?.scripts ?? 0;
    },
  };
}
