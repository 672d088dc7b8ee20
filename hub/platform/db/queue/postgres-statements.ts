import { columnsOf, REPORTED_COLUMNS } from "./run-columns.ts";

/**
 * Every statement of the queue. Arrays come as the text of their literal (`$1::text::bigint[]`). Ends of attempts are
 * anchored on the primary key with `epoch % 2 = 1` for "claimed": written as `state = 1` the planner may take the partial
 * lease index in a nested loop on a table without statistics (4 s instead of 1.3 ms for 1,000 rows).
 */

/** Evaluated once for each statement; the bare call would be made for every row, at some 10 µs each. */
export const NOW = "(select flotilla_now())";
const refs = "unnest($1::text::bigint[], $2::text::bigint[]) i(task_id, epoch)";
const fence = "t.task_id = i.task_id and t.epoch = i.epoch and i.epoch % 2 = 1";
/** What a task loses when nobody holds it any more. */
const FREED =
  "worker = null, worker_id = null, lease_until = null, deadline_at = null, claimed_at = null";

/** The columns of a run that a report fills: their placeholders from `$first` on, their names, and their values. */
function reported(end: "success" | "failure", first: number) {
  const names = columnsOf(end);
  const typed = names.map((name) => ({ name, cast: null, ...REPORTED_COLUMNS[name] }));
  return {
    holes: typed.map(({ sent }, i) => `$${first + i}::text::${sent}[]`).join(", "),
    names: names.join(", "),
    told: names.map((name) => `i.${name}`).join(", "),
    values: typed.map(({ name, cast }) => (cast ? `${name}::${cast}` : name)).join(", "),
  };
}
const OF_SUCCESS = reported("success", 6);
const OF_FAILURE = reported("failure", 10);

/**
 * One order of keys for all submitters, so none deadlock.
 * @param rare $8: the labels of each task as JSON; $9: whether its key is taken once. Tasks without either go in by a
 * statement that knows of neither.
 */
const submit = (rare: boolean): string => `
with src as (
  select distinct on (pk) pk, extra, priority, max_attempts, run_at, follows${rare ? ", labels, once" : ""}
  from unnest($2::text::text[], $3::text::text[], $4::text::int[], $5::text::int[], $6::text::bigint[],
    $7::text::bool[]${rare ? ", $8::text::text[], $9::text::bool[]" : ""})
    x(pk, extra, priority, max_attempts, run_at, follows${rare ? ", labels, once" : ""})
  order by pk),${rare ? ONCE : ""}
ins as (
  insert into tasks (workload_id, state, priority, max_attempts, follows_workload, run_at, pk, extra, created_at)
  select $1::bigint, case when run_at > ${NOW} then 3 else 0 end, priority, max_attempts, follows,
    coalesce(run_at, ${NOW}), pk, extra::jsonb, ${NOW}
  from src${rare ? " where not once or pk in (select pk from new_keys)" : ""} order by pk
  on conflict (workload_id, pk) do nothing returning state${rare ? ", task_id, pk" : ""})${rare ? LABEL : ""}
select (count(*) filter (where state = 0))::int as ready, (count(*) filter (where state = 3))::int as delayed from ins`;

const ONCE = `
new_keys as (
  insert into once_keys (workload_id, pk) select $1::bigint, pk from src where once order by pk
  on conflict do nothing returning pk),`;
const LABEL = `,
labelled as (
  insert into task_labels (task_id, key, value)
  select ins.task_id, l.key, l.value from ins join src using (pk) cross join lateral jsonb_each_text(src.labels::jsonb) l
  where src.labels is not null)`;

export const SUBMIT = submit(false);
export const SUBMIT_RARE = submit(true);

/**
 * The picked rows are locked and ready, so the update names only their keys: `t.state = 0` beside them led the planner
 * to read every ready task of a table without statistics (1.2 s instead of 10 ms for 1,000 of 1,000). The keys come as
 * an array, for which the planner expects ten elements: one probe of the primary key each, whatever it knows of the
 * table. $5 and $6 are the range in the order of claiming that each worker gets: after, up to. $9 is when a limit was
 * checked for them, or null.
 */
export const CLAIM = `
with picked as materialized (
  select task_id, priority from tasks where workload_id = $1::bigint and state = 0
  order by priority desc, task_id limit $2::bigint for update skip locked),
a as (
  select n.task_id, want.w, want.wid, want.o
  from unnest(array(select task_id from picked order by priority desc, task_id)) with ordinality n(task_id, k)
  join unnest($3::text::text[], $4::text::text[], $5::text::bigint[], $6::text::bigint[])
    with ordinality want(w, wid, lo, hi, o) on n.k > want.lo and n.k <= want.hi)
update tasks t set state = 1, attempt = t.attempt + 1, epoch = t.epoch + 1, worker = a.w, worker_id = a.wid,
  claimed_at = coalesce($9::bigint, ${NOW}), deadline_at = ${NOW} + $8::bigint,
  lease_until = least(${NOW} + $7::bigint, ${NOW} + $8::bigint)
from a
where t.task_id = a.task_id
returning a.o, t.task_id, t.pk, t.extra::text as extra, t.attempt,
  case when not t.follows_workload then t.max_attempts end as max_attempts, t.epoch, t.priority, t.claimed_at`;

/**
 * The runs, then, when $5 is 1, their owners: the planner would join the two row by row, 10,000 pairs for a batch of
 * 100.
 */
export const COMPLETE = `
with inp as (
  select distinct on (task_id, epoch, worker) * from unnest($1::text::bigint[], $2::text::bigint[], $3::text::text[],
    $4::text::bigint[], ${OF_SUCCESS.holes}) i(task_id, epoch, worker, ms, ${OF_SUCCESS.names})),
del as (
  delete from tasks t using inp i where ${fence} and t.worker = i.worker
  returning t.task_id, t.workload_id, t.pk, t.attempt, t.epoch, t.worker, t.worker_id, t.claimed_at, i.ms,
    ${OF_SUCCESS.told}),
r as (
  insert into runs (workload_id, task_id, pk, attempt, epoch, outcome, worker_id, started_at, finished_at, duration_ms,
    ${OF_SUCCESS.names})
  select workload_id, task_id, pk, attempt, epoch, 0, worker_id, claimed_at, ${NOW}, ms, ${OF_SUCCESS.values}
  from del order by task_id
  returning task_id, epoch, run_id, workload_id)
select task_id, epoch, run_id, workload_id, null as worker from r
union all select task_id, epoch, null, null, worker from del where $5::int = 1`;

export const RUNS_OF = `
select r.task_id, r.epoch, r.run_id, r.outcome from ${refs} join runs r on r.task_id = i.task_id and r.epoch = i.epoch`;

export const INSERT_LOGS = `
insert into run_logs (run_id, stdout, stderr)
select * from unnest($1::text::bigint[], $2::text::text[], $3::text::text[])`;

/** For a task `t` and its workload `w`. */
const HELD_FIELDS = `t.task_id, t.epoch, t.workload_id, t.pk, t.attempt, t.crash_count, t.worker, t.worker_id, t.claimed_at,
  coalesce(case when t.follows_workload then w.max_attempts end, t.max_attempts) as max_attempts`;

export const HELD = `
select ${HELD_FIELDS} from tasks t join ${refs} on ${fence} and t.worker = $3::text
left join workloads w on w.workload_id = t.workload_id
order by t.task_id for update of t`;

/** For tasks that `HELD` or `EXPIRED` locked and returned in this transaction. */
export const GIVE_BACK = `
with inp as (
  select * from unnest($1::text::bigint[], $2::text::bigint[], $3::text::int[], $4::text::bigint[], $5::text::int[],
    $6::text::int[], $7::text::bigint[], $8::text::bigint[], $9::text::text[], ${OF_FAILURE.holes})
    i(task_id, epoch, state, wait, crashes, outcome, ms, claimed_at, worker_id, ${OF_FAILURE.names})),
upd as (
  update tasks t set state = i.state, epoch = t.epoch + 1, run_at = ${NOW} + i.wait, crash_count = i.crashes,
    last_error = i.error, fingerprint = i.fingerprint, ${FREED}
  from inp i where ${fence}
  returning t.task_id, t.workload_id, t.pk, t.attempt, i.epoch, i.outcome, i.ms, i.claimed_at as began_at,
    i.worker_id as ran_by, ${OF_FAILURE.told})
insert into runs (workload_id, task_id, pk, attempt, epoch, outcome, worker_id, started_at, finished_at, duration_ms,
  ${OF_FAILURE.names})
select workload_id, task_id, pk, attempt, epoch, outcome, ran_by, began_at, ${NOW}, coalesce(ms, ${NOW} - began_at),
  ${OF_FAILURE.values}
from upd order by task_id
returning task_id, epoch, run_id, workload_id`;

export const RELEASE = `
update tasks t set state = i.state, attempt = t.attempt - 1, epoch = t.epoch + 1, run_at = ${NOW} + i.wait,
  last_error = coalesce(nullif(i.last_error, ''), t.last_error), ${FREED}
from unnest($1::text::bigint[], $2::text::bigint[], $4::text::int[], $5::text::bigint[], $6::text::text[])
  i(task_id, epoch, state, wait, last_error)
where ${fence} and t.worker = $3::text
returning t.task_id, t.epoch, t.workload_id, t.state`;

export const RENEW = `
update tasks t set lease_until = least(${NOW} + $4::bigint, t.deadline_at)
from ${refs} where ${fence} and t.worker = $3::text
returning t.task_id, t.epoch`;

export const EXPIRED = `
select ${HELD_FIELDS}, coalesce(t.deadline_at <= ${NOW}, false) as overdue, w.backoff
from tasks t join workloads w on w.workload_id = t.workload_id
where t.state = 1 and t.lease_until < ${NOW}
order by t.lease_until limit $1::bigint for update of t skip locked`;

export const PROMOTE = `
with due as materialized (
  select task_id from tasks where state = 3 and run_at <= ${NOW}
  order by run_at limit $1::bigint for update skip locked),
upd as (
  update tasks t set state = 0 where t.task_id = any (array(select task_id from due))
  returning t.workload_id)
select workload_id, count(*)::int as n from upd group by workload_id`;

export const CANCEL = `
with del as (
  delete from tasks where workload_id = $1::bigint and pk = $2::text
  returning state, task_id, epoch, worker, worker_id, workload_id, pk, attempt, claimed_at),
run as (
  insert into runs (workload_id, task_id, pk, attempt, epoch, outcome, worker_id, started_at, finished_at, duration_ms, error)
  select workload_id, task_id, pk, attempt, epoch, 5, worker_id, claimed_at, ${NOW}, ${NOW} - claimed_at,
    'cancelled'
  from del where state = 1)
select state, task_id, epoch, worker from del`;

/**
 * A range and an order that only the index of failed tasks has; otherwise all tasks may be walked in the order of their
 * ids.
 */
export const RESET_FAILED = `
with picked as materialized (
  select task_id from tasks where workload_id between $1::bigint and $1::bigint and state = 2
  order by workload_id, task_id limit $2::bigint for update skip locked)
update tasks t set state = 0, attempt = 0, crash_count = 0, run_at = ${NOW}
where t.task_id = any (array(select task_id from picked))
returning t.task_id`;

export const RESET_ONE = `
update tasks set state = 0, attempt = 0, crash_count = 0, run_at = ${NOW}
where workload_id = $1::bigint and pk = $2::text and state = 2
returning task_id`;

const QUEUE_ROW = `task_id, pk, state, attempt, coalesce(case when follows_workload then
  (select w.max_attempts from workloads w where w.workload_id = tasks.workload_id) end, max_attempts) as max_attempts, priority, run_at, worker_id, claimed_at, lease_until,
  last_error, extra::text as extra, created_at`;

export const PEEK = `
select ${QUEUE_ROW} from tasks where workload_id = $1::bigint and state = any ($2::text::int[]) and task_id > $5::bigint
order by task_id limit $3::bigint offset $4::bigint`;

/** Only failed tasks, by their own index, because a hundred of them are not searched for among a million ready ones. */
export const PEEK_FAILED = `
select ${QUEUE_ROW} from tasks where workload_id between $1::bigint and $1::bigint and state = 2 and task_id > $4::bigint
order by workload_id, task_id limit $2::bigint offset $3::bigint`;

export const COUNTS = `
select workload_id, sum(ready)::bigint as ready, sum(claimed)::bigint as claimed, sum(failed)::bigint as failed,
  sum(delayed)::bigint as delayed, (array_agg(last_runs order by last_at desc))[1] as last_runs,
  (array_agg(last_n order by last_at desc))[1] as last_n
from workload_stats where $1::bigint is null or workload_id = $1::bigint group by workload_id`;

/** Until the end of the transaction, so two control processes do not both fill the last place. */
export const LOCK_ROOM = `select pg_advisory_xact_lock(1718775668, ($1::bigint % 2147483647)::int)`;

/** A separate statement, because it must see what was committed while it waited for the lock. $2: the window, in ms. */
export const PLACES = `
with clock as materialized (select flotilla_now() as now),
log as materialized (
  select at, used from rate_claims, clock where workload_id = $1::bigint and at > now - $2::bigint)
select now, coalesce((select sum(claimed) from workload_stats where workload_id = $1::bigint), 0)::bigint as claimed,
  coalesce((select sum(used) from log), 0)::bigint as used, (select min(at) from log) as oldest_at,
  coalesce((select used from log order by at limit 1), 0) as oldest_used, (select max(at) from log) as newest_at
from clock`;

export const USE_RATE = `
insert into rate_claims as r (workload_id, at, used) values ($1::bigint, $2::bigint, $3::int)
on conflict (workload_id, at) do update set used = r.used + excluded.used`;

export const FORGET_RATE =
  "delete from rate_claims where workload_id = $1::bigint and at <= $2::bigint";

/** Claims that are remembered as later than $2 were made by then. */
export const BACK_TO_CLOCK = `
with ahead as (delete from rate_claims where workload_id = $1::bigint and at > $2::bigint returning used)
insert into rate_claims as r (workload_id, at, used) select $1::bigint, $2::bigint, sum(used)::int from ahead
on conflict (workload_id, at) do update set used = r.used + excluded.used`;

export const ADD_STATS = `
insert into workload_stats as s (node, workload_id, ready, claimed, failed, delayed, last_runs, last_n, last_at)
select $1::text, i.id, i.ready, i.claimed, i.failed, i.delayed, i.bits, i.runs,
  case when i.runs > 0 then ${NOW} else 0 end
from unnest($2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::bigint[], $6::text::bigint[],
  $7::text::int[], $8::text::int[]) i(id, ready, claimed, failed, delayed, bits, runs)
order by i.id
on conflict (workload_id, node) do update set
  ready = s.ready + excluded.ready, claimed = s.claimed + excluded.claimed, failed = s.failed + excluded.failed,
  delayed = s.delayed + excluded.delayed,
  last_runs = (((s.last_runs::bigint << excluded.last_n) | excluded.last_runs) & 1048575)::int,
  last_n = least(20, s.last_n + excluded.last_n), last_at = greatest(s.last_at, excluded.last_at)`;

export const ADD_RATES = `
insert into rate_minutes as r (minute, workload_id, metric, node, n)
select ${NOW} / 60000 * 60000, i.id, i.metric, $1::text, i.n
from unnest($2::text::bigint[], $3::text::text[], $4::text::bigint[]) i(id, metric, n)
order by 1, 2, 3
on conflict (minute, workload_id, metric, node) do update set n = r.n + excluded.n`;
