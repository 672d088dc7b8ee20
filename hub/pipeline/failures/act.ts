import { TASK_STATE } from "#drizzle/tables/tasks.ts";
import type { FoundTask, TaskChange } from "#hub/platform/db/queue/queue-store.ts";
import type { TaskFilter, TaskPlace } from "#hub/platform/db/triage/triage-repo.ts";
import { UNKNOWN } from "#hub/platform/failures/fingerprint.ts";
import { checkNarrowed, checkNumber } from "#hub/platform/http/at-most.ts";
import { invalid } from "#shared/kit/errors.ts";
import {
  MAX_EXAMPLES,
  type TaskChanges,
  type TaskSelection,
} from "#shared/protocol/schema/failure.ts";
import type { QueueRow } from "#shared/protocol/schema/queue.ts";
import type { PipelineContext } from "../context.ts";
import { STATES, stateName } from "../tasks/queue.ts";
import { DELETED } from "../tasks/runs.ts";

/** What can be done to many tasks at once (rules/failures#acting-by-filter). */
export type TaskAction = "retry" | "cancel" | "delete" | "move";
type StateName = QueueRow["state"];

/** The states that an action is for. */
const FOR: Record<TaskAction, readonly StateName[]> = {
  retry: ["failed"],
  cancel: ["pending", "claimed"],
  delete: ["failed"],
  move: ["failed", "pending"],
};
/** Filters that mean some of the tasks; a state means all that the action is for. */
const NARROWING = ["fingerprint", "text", "worker", "since", "until"] as const;
/** Tasks of one statement: small enough that claims and reports do not wait for it. */
const BATCH = 1_000;
/** Tasks that one statement counts. */
const COUNTED = 20_000;
/** After this time a call answers with what is done, and the caller goes on with the same call. */
const ACT_MS = 20_000;

export interface Asked extends TaskSelection {
  action: TaskAction;
  workload?: string | undefined;
  to?: string | undefined;
}

interface Act {
  change: TaskChange;
  /** One for each workload, or one for all of them by their fingerprint. */
  filters: TaskFilter[];
  dry_run: boolean;
  at_most: number;
}

/** The ways to the tasks. Those without a fingerprint are met workload by workload. */
async function filtersOf(
  ctx: Pick<PipelineContext, "pipeline" | "db">,
  asked: Asked,
): Promise<TaskFilter[]> {
  const { action, workload, fingerprint, state, since, until } = asked;
  const wanted = FOR[action];
  if (state !== undefined && !wanted.includes(state))
    throw invalid(["body", "state"], `must be ${wanted.join(" or ")} to ${action} tasks`);
  const filter = {
    states: (state === undefined ? wanted : [state]).flatMap((name) => STATES[name]),
    fingerprint: fingerprint === UNKNOWN ? null : fingerprint,
    text: asked.text,
    worker_id: asked.worker,
    since: since === undefined ? undefined : Date.parse(since),
    until: until === undefined ? undefined : Date.parse(until),
  };
  if (workload !== undefined) {
    const { workload_id } = await ctx.pipeline.workloads.require(workload);
    return [{ ...filter, workload_id }];
  }
  if (filter.fingerprint) return [{ ...filter, workload_id: null }];
  const all = await ctx.db.workloads.list();
  // Only failed tasks: what has not failed has no fingerprint either, and is not meant.
  const states = filter.states.filter((code) => code === TASK_STATE.failed);
  if (states.length === 0)
    throw invalid(["body", "state"], "only failed tasks can be without a fingerprint");
  return all.map(({ workload_id }) => ({ ...filter, states, workload_id }));
}

async function actOf(ctx: Pick<PipelineContext, "pipeline" | "db">, asked: Asked): Promise<Act> {
  const filters = await filtersOf(ctx, asked);
  const { action, to, dry_run } = asked;
  const at_most = asked.at_most ?? Number.POSITIVE_INFINITY;
  if (action === "retry") return { change: { kind: "retry" }, filters, dry_run, at_most };
  if (action !== "move") return { change: { kind: "remove" }, filters, dry_run, at_most };
  const target = await ctx.pipeline.workloads.find(to ?? "");
  if (!target) throw invalid(["body", "to"], "no workload has this name");
  const { workload_id, max_attempts } = target;
  if (filters.some((filter) => filter.workload_id === workload_id) && asked.workload !== undefined)
    throw invalid(["body", "to"], "the tasks are in the queue of this workload already");
  const others = filters
    .filter((filter) => filter.workload_id !== workload_id)
    .map((filter) => ({ ...filter, except: workload_id }));
  const change: TaskChange = { kind: "move", to: { workload_id, max_attempts } };
  return { change, filters: others, dry_run, at_most };
}

type Done = Omit<TaskChanges, "dry_run" | "examples"> & { found: FoundTask[] };
const NOTHING = { matched: 0, changed: 0, moved_on: 0, complete: true, duplicates: 0 };

/** Runs `piece` from where the last one ended, until it is at the end of every way; false when it is late. */
async function walkAll(
  filters: readonly TaskFilter[],
  isLate: () => boolean,
  piece: (filter: TaskFilter, after: TaskPlace | null) => Promise<TaskPlace | null>,
): Promise<boolean> {
  for (const filter of filters) {
    let after: TaskPlace | null = null;
    do {
      if (isLate()) return false;
      after = await piece(filter, after);
      await new Promise<void>((resolve) => setImmediate(resolve));
    } while (after !== null);
  }
  return true;
}

/** How many it would be; it ends where they are more than somebody asks for. */
async function countAll(
  { db }: Pick<PipelineContext, "db">,
  { filters, at_most }: Pick<Act, "filters" | "at_most">,
  isLate: () => boolean,
): Promise<{ matched: number; complete: boolean }> {
  let matched = 0;
  const isOver = () => isLate() || matched > at_most;
  const complete = await walkAll(filters, isOver, async (filter, after) => {
    const { n, last } = await db.triage.countTasks(filter, after, COUNTED);
    matched += n;
    return last;
  });
  return { matched, complete };
}

/** How many it would be, and a few of them. */
async function preview(
  ctx: Pick<PipelineContext, "db">,
  { filters }: Act,
  isLate: () => boolean,
): Promise<Done> {
  const { db } = ctx;
  const done: Done = { ...NOTHING, found: [] };
  const all = { filters, at_most: Number.POSITIVE_INFINITY };
  const { matched, complete } = await countAll(ctx, all, isLate);
  done.matched = matched;
  done.complete = complete;
  await walkAll(filters, isLate, async (filter, after) => {
    if (done.found.length >= Math.min(MAX_EXAMPLES, done.matched)) return null;
    const { found, last } = await db.triage.findTasks(filter, after, BATCH);
    done.found.push(...found.slice(0, MAX_EXAMPLES - done.found.length));
    return last;
  });
  return done;
}

/** Piece by piece, each one statement: what a crash leaves is either changed or as it was. */
async function changeAll(
  ctx: Pick<PipelineContext, "db" | "pipeline">,
  { filters, change, at_most }: Act,
  isLate: () => boolean,
): Promise<Done> {
  if (Number.isFinite(at_most))
    checkNumber((await countAll(ctx, { filters, at_most }, isLate)).matched, at_most);
  const done: Done = { ...NOTHING, found: [] };
  done.complete = await walkAll(filters, isLate, async (filter, after) => {
    const piece = await ctx.db.triage.findTasks(filter, after, BATCH);
    // What came since they were counted is not meant.
    const found = piece.found.slice(0, Math.max(0, at_most - done.matched));
    const last = done.matched + found.length >= at_most ? null : piece.last;
    if (found.length === 0) return last;
    done.found.push(...found.slice(0, MAX_EXAMPLES - done.found.length));
    const { tasks, duplicates } = await ctx.pipeline.store.change(change, found);
    done.matched += found.length;
    done.changed += tasks.length;
    done.duplicates += duplicates;
    done.moved_on += found.length - tasks.length - duplicates;
    wakeFor(ctx, change, tasks);
    return last;
  });
  return done;
}

/** Claims that wait are answered at once. */
function wakeFor(
  { pipeline }: Pick<PipelineContext, "pipeline">,
  change: TaskChange,
  tasks: readonly FoundTask[],
) {
  if (change.kind === "remove" || tasks.length === 0) return;
  if (change.kind === "move") return pipeline.wake(change.to.workload_id, tasks.length);
  const ready = new Map<number, number>();
  for (const { workload_id } of tasks) ready.set(workload_id, (ready.get(workload_id) ?? 0) + 1);
  for (const [workload_id, n] of ready) pipeline.wake(workload_id, n);
}

/**
 * Retries, cancels, deletes or moves the tasks that a filter finds, or says how many it would be.
 * @throws AppError not_found, invalid
 */
export async function actOnTasks(
  ctx: Pick<PipelineContext, "clock" | "db" | "log" | "pipeline">,
  asked: Asked,
): Promise<TaskChanges> {
  const { action, workload, fingerprint, to } = asked;
  if (!asked.dry_run)
    checkNarrowed(
      NARROWING.some((name) => asked[name] !== undefined),
      asked.at_most,
    );
  const act = await actOf(ctx, asked);
  const late = ctx.clock.monotonic() + ACT_MS;
  const isLate = () => ctx.clock.monotonic() >= late || ctx.pipeline.stopping.aborted;
  const does = act.dry_run ? preview : changeAll;
  const { found, ...done } = await does(ctx, act, isLate);
  const slug = new Map((await ctx.db.workloads.list()).map((one) => [one.workload_id, one.slug]));
  const examples = found.map(({ workload_id, pk, state }) => ({
    workload: slug.get(workload_id) ?? DELETED,
    pk,
    state: stateName(state),
  }));
  if (!act.dry_run)
    ctx.log.info(
      { action, workload, fingerprint, to, matched: done.matched, changed: done.changed },
      "tasks changed by a filter",
    );
  return { dry_run: act.dry_run, ...done, examples };
}
