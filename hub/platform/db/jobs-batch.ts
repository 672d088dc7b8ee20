import { and, eq, getTableColumns, isNull, type SQL, sql } from "drizzle-orm";
import { cleanJson } from "#drizzle/clean.ts";
import { createBatcher } from "./batch.ts";
import type { Conn } from "./conn.ts";
import { notBefore } from "./not-before.ts";
import { once } from "./once.ts";
import { isOfOneRow } from "./postgres-errors.ts";
import type { JobRow } from "./rows.ts";

/**
 * The statements of every job, many jobs at a time (Postgres): a statement of its own costs each of them a round trip, a commit
 * and most of the server's work. One conditional statement decides each job as before, whoever else wants it
 * (rules/jobs#two-hubs-and-one-job).
 */

type Columns = Record<string, { getSQLType(): string }>;

/** `rows`, an array of objects as JSON, as a table `v`. One text for any number of rows, so it is prepared once. */
export const givenRows = (columns: Columns): SQL => {
  const types = Object.entries(columns).map(([name, c]) => `"${name}" ${c.getSQLType()}`);
  return sql`json_to_recordset(${sql.placeholder("rows")}::json) as v(${sql.raw(types.join(", "))})`;
};
const given = (name: string): SQL => sql.raw(`v."${name}"`);
const givenAll = (names: Record<string, true>) =>
  Object.fromEntries(Object.keys(names).map((name) => [name, given(name)]));

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
} as const;
export type Claimed = Pick<JobRow, keyof typeof CLAIMED>;
export type Ended = Pick<JobRow, keyof typeof ENDED>;

/** Statements for one job. `held_token`: the lease under which it has to run. */
export interface JobStatements {
  get(job_id: string): Promise<JobRow | null>;
  insert(row: JobRow): Promise<void>;
  claim(lane: Claimed & { job_id: string }): Promise<JobRow | null>;
  finish(end: Ended & { job_id: string; held_token: number }): Promise<JobRow | null>;
}

const pick = <K extends string, V>(from: Record<K, V>, names: Record<string, true>) =>
  Object.fromEntries(Object.entries<V>(from).filter(([name]) => name in names));

/** The same, those of one turn of the event loop together. */
export function batchJobs({ q, t: { jobs } }: Conn, singles: JobStatements): JobStatements {
  const all = getTableColumns(jobs);
  const { job_id, status, worker_id, lease_token: held_token } = jobs;
  const shared = { key: (input: { job_id: string }) => input.job_id, splits: isOfOneRow };
  const rowsFor = (inputs: readonly { job_id: string }[], rows: JobRow[]) => {
    const won = new Map(rows.map((row) => [row.job_id, row]));
    return inputs.map((input) => won.get(input.job_id) ?? null);
  };

  const names = sql.join(Object.keys(all).map(given), sql`, `);
  const insertMany = once(() =>
    q
      .insert(jobs)
      .select(sql`select ${names} from ${givenRows(all)}` as never)
      .prepare("insert_jobs"),
  );

  // Another hub may claim some of them: neither waits for the other's locks, so they cannot wait for each other.
  const free = sql`(
    select v.* from ${givenRows({ job_id, ...pick(all, CLAIMED) })}
    join ${jobs} on ${job_id} = v.job_id
    where ${status} = 'queued' and ${worker_id} is null
    order by ${job_id} for no key update of ${jobs} skip locked) as v`;
  const claimMany = once(() =>
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

  const finishMany = once(() =>
    q
      .update(jobs)
      .set({
        ...givenAll(ENDED),
        finished_at: notBefore(
          sql`coalesce(${jobs.started_at}, ${jobs.created_at})`,
          given("finished_at"),
        ),
      })
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

  const getMany = once(() =>
    q
      .select()
      .from(jobs)
      .where(sql`${job_id} in (select json_array_elements_text(${sql.placeholder("ids")}::json))`)
      .prepare("get_jobs"),
  );

  return {
    get: createBatcher({
      ...{ splits: isOfOneRow, one: singles.get },
      many: async (ids) => {
        const rows = await getMany().execute({ ids: cleanJson([...new Set(ids)]) });
        const found = new Map(rows.map((row) => [row.job_id, row]));
        return ids.map((id) => found.get(id) ?? null);
      },
    }),
    insert: createBatcher({
      ...{ ...shared, one: singles.insert },
      many: async (rows) => {
        await insertMany().execute({ rows: cleanJson(rows) });
        return rows.map(() => undefined);
      },
    }),
    claim: createBatcher({
      ...{ ...shared, one: singles.claim },
      many: async (lanes) => rowsFor(lanes, await claimMany().execute({ rows: cleanJson(lanes) })),
    }),
    finish: createBatcher({
      ...{ ...shared, one: singles.finish },
      many: async (ends) => rowsFor(ends, await finishMany().execute({ rows: cleanJson(ends) })),
    }),
  };
}
