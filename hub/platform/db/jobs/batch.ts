import { and, eq, getTableColumns, isNull, sql } from "drizzle-orm";
import { cleanJson } from "#drizzle/clean.ts";
import { once } from "#shared/kit/once.ts";
import { createBatcher } from "../batch.ts";
import type { Conn } from "../conn.ts";
import { given, givenRows } from "../given-rows.ts";
import { notBefore } from "../not-before.ts";
import { isOfOneRow } from "../postgres-errors.ts";
import type { JobRow } from "../rows.ts";
import { CLAIMED, ENDED, type JobStatements } from "./statements.ts";
import { finishedAt } from "./which.ts";

/**
 * The statements of every job, for many jobs at a time (Postgres): a separate statement would cost each job a round
 * trip, a commit and most of the server's work. One conditional statement still decides each job, whoever else wants it
 * (rules/jobs#two-hubs-and-one-job).
 */

const givenAll = (names: Record<string, true>) =>
  Object.fromEntries(Object.keys(names).map((name) => [name, given(name)]));

const pick = <K extends string, V>(from: Record<K, V>, names: Record<string, true>) =>
  Object.fromEntries(Object.entries<V>(from).filter(([name]) => name in names));

const insertMany = ({ q, t: { jobs } }: Conn) => {
  const all = getTableColumns(jobs);
  const names = sql.join(Object.keys(all).map(given), sql`, `);
  return once(() =>
    q
      .insert(jobs)
      .select(sql`select ${names} from ${givenRows(all)}` as never)
      .prepare("insert_jobs"),
  );
};

const claimMany = ({ q, t: { jobs } }: Conn) => {
  const all = getTableColumns(jobs);
  const { job_id, status, worker_id } = jobs;
  // Another hub may claim some of them: neither waits for the other's locks, so there is no deadlock.
  const free = sql`(
    select v.* from ${givenRows({ job_id, ...pick(all, CLAIMED) })}
    join ${jobs} on ${job_id} = v.job_id
    where ${status} = 'queued' and ${worker_id} is null
    order by ${job_id} for no key update of ${jobs} skip locked) as v`;
  return once(() =>
    q
      .update(jobs)
      .set({
        ...givenAll(CLAIMED),
        status: "running",
        stage: null,
        started_at: notBefore(jobs.created_at, given("started_at")),
      })
      .from(free as never)
      .where(and(eq(job_id, given("job_id")), eq(status, "queued"), isNull(worker_id)))
      .returning(all)
      .prepare("claim_jobs"),
  );
};

const finishMany = ({ q, t: { jobs } }: Conn) => {
  const all = getTableColumns(jobs);
  const { job_id, status, lease_token: held_token } = jobs;
  return once(() =>
    q
      .update(jobs)
      .set({ ...givenAll(ENDED), finished_at: finishedAt(jobs, given("finished_at")) })
      .from(givenRows({ job_id, held_token, ...pick(all, ENDED) }) as never)
      .where(
        and(
          eq(job_id, given("job_id")),
          eq(status, "running"),
          eq(held_token, given("held_token")),
        ),
      )
      .returning(all)
      .prepare("finish_jobs"),
  );
};

const getMany = ({ q, t: { jobs } }: Conn) =>
  once(() =>
    q
      .select()
      .from(jobs)
      .where(
        sql`${jobs.job_id} in (select json_array_elements_text(${sql.placeholder("ids")}::json))`,
      )
      .prepare("get_jobs"),
  );

const byId = (rows: readonly JobRow[]) => new Map(rows.map((row) => [row.job_id, row]));

/** The same, but the calls of one turn of the event loop are done together. */
export function batchedStatements(conn: Conn, singles: JobStatements): JobStatements {
  const get = getMany(conn);
  const insert = insertMany(conn);
  const claim = claimMany(conn);
  const finish = finishMany(conn);
  const key = (input: { job_id: string }) => input.job_id;
  const rowsFor = (inputs: readonly { job_id: string }[], rows: JobRow[]) => {
    const won = byId(rows);
    return inputs.map((input) => won.get(input.job_id) ?? null);
  };
  return {
    get: createBatcher({
      splits: isOfOneRow,
      one: singles.get,
      many: async (ids) => {
        const found = byId(await get().execute({ ids: cleanJson([...new Set(ids)]) }));
        return ids.map((id) => found.get(id) ?? null);
      },
    }),
    insert: createBatcher({
      key,
      splits: isOfOneRow,
      one: singles.insert,
      many: async (rows) => {
        await insert().execute({ rows: cleanJson(rows) });
        return rows.map(() => undefined);
      },
    }),
    claim: createBatcher({
      key,
      splits: isOfOneRow,
      one: singles.claim,
      many: async (lanes) => rowsFor(lanes, await claim().execute({ rows: cleanJson(lanes) })),
    }),
    finish: createBatcher({
      key,
      splits: isOfOneRow,
      one: singles.finish,
      many: async (ends) => rowsFor(ends, await finish().execute({ rows: cleanJson(ends) })),
    }),
  };
}
