import type { Conn } from "#hub/platform/db/conn.ts";
import { listJobs } from "#hub/platform/db/jobs/list.ts";
import { searchRepo } from "#hub/platform/db/search-repo.ts";
import { triageRepo } from "#hub/platform/db/triage/repo.ts";

/** The tables that grow with use: a search that reads one of them from end to end is what must not happen. */
export const LARGE = [
  ...["jobs", "job_texts", "job_labels", "sessions"],
  ...["tasks", "runs", "task_labels"],
];
const FIRST = 1_700_000_000_000;

export interface SearchCase {
  name: string;
  call: (conn: Conn) => Promise<unknown>;
  /** What each of its reads is answered with: an id and a key, so that what follows from them is asked too. */
  rows?: unknown[][];
  /** All of these are used by one of its statements. */
  uses: RegExp[];
  /** A table that it goes through in the order of an index, up to a limit. */
  walks?: RegExp;
}

/** More than any search may read of a table. */
const ROWS = 40_000;
const FOUND = [[3, "k5"]];
/** The newest of all runs. */
const NEWEST = [[ROWS, "k5"]];
const PLACE = { created_at: FIRST + 39_000, job_id: null };
const WITHIN = { before: PLACE, since: FIRST, limit: 1_000 };
const REGION = { key: "region", value: "eu" };
const PK = /_pkey|rowid|sqlite_autoindex|INTEGER PRIMARY KEY/;
const TEXTS = /job_texts_index|VIRTUAL TABLE/;

/** Whatever a search and the groups of failed jobs ask of a table that grows (rules/search#time). */
export const SEARCH_CASES: SearchCase[] = [
  {
    name: "jobs by the beginning of their id",
    call: (c) => searchRepo(c).jobsById("j5", 20),
    uses: [/jobs_pkey|sqlite_autoindex_jobs_1/],
  },
  {
    name: "jobs by words",
    call: (c) => listJobs(c)({ words: "shop77 over", limit: 20 }, null),
    uses: [TEXTS, /jobs_pkey|sqlite_autoindex_jobs_1/, /jobs_status_created_idx/],
  },
  {
    name: "jobs by words, a later page",
    call: (c) =>
      listJobs(c)({ words: "shop77", limit: 20 }, { created_at: FIRST + 39_000, job_id: "j9" }),
    uses: [TEXTS, /jobs_pkey|sqlite_autoindex_jobs_1/],
  },
  {
    name: "jobs by a label",
    call: (c) => listJobs(c)({ label: [REGION], limit: 20 }, null),
    uses: [/job_labels_value_idx/],
  },
  {
    name: "jobs that failed alike",
    call: (c) => listJobs(c)({ fingerprint: "f5", limit: 20 }, null),
    uses: [/jobs_fingerprint_created_idx/],
  },
  {
    name: "jobs of a status that few have",
    call: (c) => listJobs(c)({ status: "queued", limit: 20 }, null),
    uses: [/jobs_status_created_idx/],
  },
  {
    name: "failed jobs by a part of their address",
    call: (c) => listJobs(c)({ result: "failed", q: "nowhere", limit: 20 }, null),
    uses: [/jobs_status_created_idx/],
  },
  {
    name: "sessions by words",
    call: (c) => searchRepo(c).sessions("shop anna", 20),
    uses: [/sessions_ended_idx/, /sessions_pkey|sqlite_autoindex_sessions_1/],
    walks: /^SCAN sessions USING COVERING INDEX sessions_ended_idx$/,
  },
  {
    name: "tasks by their keys",
    call: (c) => searchRepo(c).tasks("k5", null, 20),
    rows: FOUND,
    uses: [/tasks_pk_idx/, PK],
  },
  {
    name: "tasks by a label",
    call: (c) => searchRepo(c).tasks("region:eu", REGION, 20),
    rows: FOUND,
    uses: [/task_labels_value_idx/, /tasks_pk_idx/, PK],
  },
  {
    name: "runs by number, key and words",
    call: (c) => searchRepo(c).runs("77", null, 20),
    rows: NEWEST,
    uses: [/runs_failed_pk_idx/, /runs_failed_idx/, PK],
  },
  {
    name: "runs by a label of their task",
    call: (c) => searchRepo(c).runs("region:eu", REGION, 20),
    rows: NEWEST,
    uses: [/task_labels_value_idx/, /runs_attempt_idx/],
  },
  {
    name: "groups of failed jobs: a piece",
    call: (c) => triageRepo(c).failedJobs(WITHIN, { text: "x", host: "h1" }),
    uses: [/jobs_status_created_idx/],
  },
  {
    name: "groups of failed jobs: the next piece of one",
    call: (c) =>
      triageRepo(c).failedJobs(
        { ...WITHIN, before: { ...PLACE, job_id: "j900" } },
        { fingerprint: "f5" },
      ),
    uses: [/jobs_status_created_idx/],
  },
  {
    name: "groups of failed jobs: first seen",
    call: (c) => triageRepo(c).firstJobs(["f5", "f6"]),
    uses: [/jobs_fingerprint_created_idx/],
  },
  {
    name: "groups of failed jobs: examples",
    call: (c) => triageRepo(c).jobExamples(["j7", "j8"]),
    uses: [/jobs_pkey|sqlite_autoindex_jobs_1/],
  },
];

/** `ROWS` in every large table: one job in 50 failed, one run in 10, one session in a thousand is open. */
export function fillOf(dialect: Conn["dialect"]): string[] {
  const rows = ROWS;
  const sqlite = dialect === "sqlite";
  const series = sqlite
    ? `(with recursive s(g) as (select 1 union all select g + 1 from s where g < ${rows}) select g from s)`
    : `generate_series(1, ${rows}) g`;
  const json = (text: string) => (sqlite ? `'${text}'` : `'${text}'::jsonb`);
  // As long as the words of a job are.
  const other = sqlite ? "hex(randomblob(300))" : "repeat(md5(g::text) || ' ', 20)";
  const no = sqlite ? "0" : "false";
  const yes = sqlite ? "1" : "true";
  return [
    `insert into workloads (slug, name, description, enabled, supervisor_enabled, executor_type, executor_config, priority,
        batch_size, lease_secs, max_attempts, host_affinity, backoff, emits, schedule_tz, created_at, updated_at)
      select 'w' || g, 'w', '', ${yes}, ${no}, 'command', ${json("{}")}, 0, 1, 60, 3, ${json("[]")}, ${json("{}")},
        ${json("[]")}, 'UTC', 0, 0 from ${series} where g <= 5`,
    `insert into jobs (job_id, status, mode, url, host, options, created_at, finished_at, error, fingerprint)
      select 'j' || g, case g % 50 when 0 then 'failed' else 'completed' end, 'fetch', 'http://h' || g % 9 || '/' || g,
        'h' || g % 9, ${json("{}")}, ${FIRST} + g, ${FIRST} + g, case g % 50 when 0 then 'no such host' end,
        case g % 50 when 0 then 'f' || g % 9 end from ${series}`,
    `insert into job_texts (job_id, words) select 'j' || g, 'http shop' || g % 90 || ' test invoice ' || g || ' overview ' || ${other} from ${series}`,
    `insert into job_labels (job_id, key, value, created_at)
      select 'j' || g, 'region', case g % 2 when 0 then 'eu' else 'us' end, ${FIRST} + g from ${series}`,
    `insert into sessions (session_id, kind, worker_id, lane_idx, opened_by, headless, created_at, ended_at, url, title, actions)
      select 's' || g, 'sdk', 'w1', 0, 'anna', ${no}, ${FIRST} + g, case when g % 1000 <> 0 then ${FIRST} + g end,
        'http://shop.test/' || g, 'Shop', 1 from ${series}`,
    `insert into tasks (workload_id, state, priority, max_attempts, epoch, pk, created_at, run_at)
      select 1 + g % 5, 0, 0, 3, 0, 'k' || g, ${FIRST}, ${FIRST} from ${series}`,
    `insert into task_labels (task_id, key, value)
      select g, 'region', case g % 2 when 0 then 'eu' else 'us' end from ${series}`,
    `insert into runs (workload_id, task_id, pk, attempt, epoch, outcome, worker_id, started_at, finished_at, duration_ms,
        error)
      select 1 + g % 5, g, 'k' || g, 1, 1, case when g % 10 = 0 then 1 else 0 end, 'w', ${FIRST} + g, ${FIRST} + g, 1,
        case when g % 10 = 0 then 'KeyError: giraffe' end from ${series}`,
  ];
}
