import type { Http } from "#shared/client/http.ts";
import type {
  FailureGroup,
  JobChangesMade,
  JobFailureGroup,
  TaskChanges,
} from "#shared/protocol/schema/failure.ts";
import type { FlagValues } from "./args.ts";
import { moment } from "./client-call.ts";
import { EXIT, UsageError } from "./exit.ts";
import { asTyped, tellRefusal } from "./hub-client.ts";
import { printable, type Terminal, tableFor } from "./print.ts";

/** `flotilla failures` and `flotilla retry`: failures in groups, and what is done to many tasks or jobs at once. */

export interface FailuresDeps {
  client: Http;
  terminal: Terminal;
}

const ACTIONS = ["retry", "cancel", "delete", "move"] as const;
type Action = (typeof ACTIONS)[number];
type Group = FailureGroup | JobFailureGroup;
type Made = TaskChanges | JobChangesMade;

const COLUMNS = [
  { title: "fingerprint" },
  { title: "count", right: true },
  { title: "last seen" },
  { title: "first seen" },
  { title: "where", shrink: 10 },
  { title: "failure", shrink: 16 },
];
const cells = (group: Group): string[] => [
  group.fingerprint,
  String(group.count),
  moment(group.last_seen),
  moment(group.first_seen),
  ("hosts" in group ? group.hosts : group.workloads).join(" "),
  `${group.kind}: ${group.message}`,
];

const named = (flags: FlagValues, names: readonly string[]): Record<string, string | undefined> =>
  Object.fromEntries(names.map((name) => [name, flags[name]?.at(-1)]));
const TASK_FLAGS = ["fingerprint", "workload", "worker", "text", "since", "until"] as const;
const JOB_FLAGS = ["fingerprint", "host", "text", "since", "until"] as const;

/** Tasks or jobs: what only one of them has must not go unheard. @throws UsageError */
function checkFlags(flags: FlagValues): boolean {
  const is_jobs = flags.jobs !== undefined;
  const wrong = (is_jobs ? ["workload", "to", "state"] : ["host", "status"]).find(
    (name) => flags[name] !== undefined,
  );
  if (wrong !== undefined)
    throw new UsageError(
      `--${wrong} is for ${is_jobs ? "tasks, not for jobs" : "jobs: add --jobs"}`,
    );
  return is_jobs;
}

async function listGroups({ client, terminal }: FailuresDeps, flags: FlagValues): Promise<number> {
  const is_jobs = checkFlags(flags);
  const query = asTyped(
    named(flags, [...(is_jobs ? [...JOB_FLAGS, "worker"] : TASK_FLAGS), "limit"]),
  );
  const list = is_jobs
    ? await client.call("GET /jobs/failures", { query })
    : await client.call("GET /api/v1/failures", { query });
  if (flags.json) terminal.out(`${JSON.stringify(list, null, 2)}\n`);
  else if (list.items.length === 0) terminal.out("no failures\n");
  else terminal.out(`${tableFor(terminal, COLUMNS, list.items.map(cells))}\n`);
  if (!list.complete) terminal.err(`only failures since ${list.counted_since} are counted\n`);
  return EXIT.ok;
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
const DONE = { retry: "retried", cancel: "cancelled", delete: "deleted", move: "moved" } as const;

function previewText(action: Action, what: string, made: Made): string {
  const more = made.complete ? "" : "at least ";
  const lines = made.examples.map((one) =>
    "pk" in one
      ? `  ${one.workload} ${one.pk} (${one.state})`
      : `  ${one.job_id} ${one.url} (${one.status})`,
  );
  const rest = made.matched - lines.length;
  if (rest > 0) lines.push(`  and ${rest} more`);
  if (made.matched > 0)
    lines.push(
      `Nothing is changed yet: repeat the command with --yes --at-most ${made.matched} to do it.`,
    );
  return [`${more}${count(made.matched, what)} to ${action}`, ...lines].map(printable).join("\n");
}

function doneText(action: Action, what: string, made: Made): string {
  const parts = [`${count(made.changed, what)} ${DONE[action]}`];
  if (made.moved_on > 0) parts.push(`${made.moved_on} had moved on meanwhile`);
  if ("duplicates" in made && made.duplicates > 0)
    parts.push(`${made.duplicates} stayed, because the other queue has their keys`);
  if (!("refusals" in made)) return parts.join("; ");
  if (made.refused > 0) parts.push(`${made.refused} refused`);
  const why = made.refusals.map(({ job_id, reason }) => `  ${job_id}: ${reason}`);
  return [parts.join("; "), ...why].map(printable).join("\n");
}

type Call = (dry_run: boolean, at_most: number | undefined) => Promise<Made>;

/** @throws UsageError */
function atMostOf(flags: FlagValues): number | undefined {
  const text = flags["at-most"]?.at(-1);
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--at-most must be a number, not "${text}"`);
  return Number(text);
}

/** A call ends after a while; the same call goes on where it ended, because it finds only what is left. */
async function untilDone(call: Call, at_most: number | undefined): Promise<Made> {
  const sum = await call(false, at_most);
  for (let last = sum; !last.complete && last.changed > 0; ) {
    last = await call(false, at_most === undefined ? undefined : at_most - sum.changed);
    for (const name of ["matched", "changed", "moved_on"] as const) sum[name] += last[name];
    if ("duplicates" in sum && "duplicates" in last) sum.duplicates = last.duplicates;
    if ("refused" in sum && "refused" in last) {
      sum.refused = last.refused;
      sum.refusals = last.refusals;
    }
    sum.complete = last.complete;
  }
  return sum;
}

/** What a filter must be, the hub says. */
const bodyOf = (
  filter: Record<string, string | undefined>,
  dry_run: boolean,
  at_most: number | undefined,
): never => ({ ...filter, dry_run, at_most }) as never;

function callOf({ client }: FailuresDeps, action: Action, flags: FlagValues): Call {
  if (checkFlags(flags)) {
    if (action === "move") throw new UsageError("jobs have no queue to move to");
    const filter = { ...named(flags, [...JOB_FLAGS, "status"]), worker_id: flags.worker?.at(-1) };
    return (dry_run, at_most) =>
      client.call(`POST /jobs/${action}`, { json: bodyOf(filter, dry_run, at_most) });
  }
  const { workload: slug, ...filter } = named(flags, [...TASK_FLAGS, "state", "to"]);
  if ((action === "move") !== (filter.to !== undefined))
    throw new UsageError(action === "move" ? "move needs --to SLUG" : "--to is for move");
  if (slug !== undefined)
    return (dry_run, at_most) =>
      client.call(`POST /api/v1/workloads/{slug}/tasks/${action}`, {
        params: { slug },
        json: bodyOf(filter, dry_run, at_most),
      });
  if (filter.fingerprint === undefined)
    throw new UsageError(`${action} needs --fingerprint, --workload, or --jobs with a filter`);
  return (dry_run, at_most) =>
    client.call(`POST /api/v1/failures/${action}`, { json: bodyOf(filter, dry_run, at_most) });
}

async function act(deps: FailuresDeps, action: Action, flags: FlagValues): Promise<number> {
  const call = callOf(deps, action, flags);
  const what = flags.jobs === undefined ? "task" : "job";
  const is_preview = flags.yes === undefined;
  const made = is_preview ? await call(true, undefined) : await untilDone(call, atMostOf(flags));
  const text = is_preview ? previewText : doneText;
  deps.terminal.out(`${flags.json ? JSON.stringify(made, null, 2) : text(action, what, made)}\n`);
  return "refused" in made && made.refused > 0 ? EXIT.failed : EXIT.ok;
}

/** @throws UsageError for an unknown word, and flags that do not go together */
export async function runFailuresCommand(
  deps: FailuresDeps,
  word: string,
  flags: FlagValues,
): Promise<number> {
  try {
    if (word === "" || word === "list") return await listGroups(deps, flags);
    const action = ACTIONS.find((one) => one === word);
    if (!action) throw new UsageError(`failures takes list, ${ACTIONS.join(", ")}, not "${word}"`);
    return await act(deps, action, flags);
  } catch (err) {
    return tellRefusal(deps.terminal, err);
  }
}
