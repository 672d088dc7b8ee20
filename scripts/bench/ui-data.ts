import Database from "better-sqlite3";

export interface Amounts {
  jobs: number;
  runs: number;
}

const HOUR_MS = 3_600_000;

/**
 * Fills the database of a hub that is not running, as weeks of use would: jobs of every status, and runs of five
 * workloads of which one in fifty failed. The workloads must be there.
 */
export function fillDatabase(path: string, { jobs, runs }: Amounts): void {
  const db = new Database(path);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = OFF");
  const now = Date.now();
  const n = (most: number) =>
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${most})`;
  const options = JSON.stringify({ mode: "fetch" });
  const template = db.prepare("select options from jobs limit 1").get() as
    | { options: string }
    | undefined;
  db.prepare(
    `insert into jobs (job_id, status, mode, url, host, options, created_at, started_at, finished_at,
       asset_count, asset_bytes, attempts, title, error, stage)
     ${n(jobs)}
     select printf('bench%09d', i),
       case when i % 20 = 0 then 'failed' when i % 33 = 0 then 'cancelled' else 'completed' end,
       'fetch', printf('https://host%d.example/articles/%d?page=%d', i % 40, i, i % 7), printf('host%d.example', i % 40), ?,
       ? - i * 60000, ? - i * 60000 + 400, ? - i * 60000 + 9000, i % 90, i * 977, 0, printf('Article %d', i),
       case when i % 20 = 0 then 'the page did not answer within 60 s' end, 'done'
     from n`,
  ).run(template?.options ?? options, now, now, now);
  db.prepare(
    `insert into runs (workload_id, task_id, pk, attempt, epoch, outcome, worker_id, started_at, finished_at,
       duration_ms, output, error)
     ${n(runs)}
     select (select min(workload_id) from workloads) + i % 5, 1000000 + i, printf('task-%d', i), 1, 1,
       case when i % 50 = 0 then 1 else 0 end, 'w1', t - 120, t, 120, '{"rows":12}',
       case when i % 50 = 0 then 'exit status 1' end
     from (select i, ? - (${runs} - i) * (${24 * HOUR_MS} / ${runs}.0) as t from n)`,
  ).run(now);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}
