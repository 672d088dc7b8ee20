import type { Claim, ClaimedTask } from "#hub/platform/db/queue/queue-store.ts";
import type { PullWorkerRow, WorkloadRow } from "#hub/platform/db/rows.ts";
import type { PipelineContext } from "../context.ts";
import { limitsOf } from "../queue/limits-of.ts";
import type { HintMark } from "../queue/ready-hints.ts";
import { mayRun } from "./may-run.ts";

/** Tasks of one workload for one slot. */
export interface SlotTasks {
  workload: WorkloadRow;
  tasks: ClaimedTask[];
  /** How long the call had waited when they were claimed; absent: not at all. */
  waited_ms?: number;
}

interface ClaimWant {
  slots: number;
  exclude: readonly string[];
  /** Ends of attempts are recorded in the same transaction, so a full workload may have a place afterwards. */
  reporting?: boolean;
}

/**
 * Claims for up to `slots` slots, up to batch_size tasks of one workload each. Workloads of the highest priority come
 * first, and those of one priority take turns, so that a flooded one does not starve its neighbours.
 */
async function claimTasks(
  ctx: Pick<PipelineContext, "pipeline" | "disk_room">,
  worker: PullWorkerRow,
  { slots, exclude, reporting = false }: ClaimWant,
): Promise<SlotTasks[]> {
  const batches: SlotTasks[] = [];
  for (let first = true; batches.length < slots; first = false) {
    const some = candidates(ctx, worker, exclude, first && reporting);
    const plan = planSlots(some, slots - batches.length);
    if (plan.length === 0) break;
    const claimed = await Promise.all(
      plan.map(({ workload, share }) => claimShare(ctx, worker, workload, share)),
    );
    batches.push(...claimed.flat());
  }
  return batches;
}

/** Workloads this worker may run that may have ready tasks, of the highest priority among them. */
function candidates(
  { pipeline, disk_room }: Pick<PipelineContext, "pipeline" | "disk_room">,
  worker: PullWorkerRow,
  exclude: readonly string[],
  full_too = false,
): WorkloadRow[] {
  // What they would do has to be stored.
  if (worker.draining || disk_room.shortage !== null) return [];
  const { ready } = pipeline;
  let best: WorkloadRow[] = [];
  let rank = Number.NEGATIVE_INFINITY;
  for (const workload of pipeline.workloads.all()) {
    const { workload_id, enabled, slug, priority } = workload;
    const open = ready.has(workload_id);
    const full = full_too && ready.heldBy(workload_id) === "in_flight";
    if (!enabled || !(open || full) || exclude.includes(slug) || !mayRun(worker, workload))
      continue;
    // A full one may yield nothing, so it comes after its equals.
    const own = open ? priority : priority - 0.5;
    if (own > rank) best = [workload];
    else if (own === rank) best.push(workload);
    rank = Math.max(rank, own);
  }
  return best;
}

let turn = 0;

/** Slots dealt out one by one, beginning with another workload at every call. */
function planSlots(
  workloads: readonly WorkloadRow[],
  slots: number,
): { workload: WorkloadRow; share: number }[] {
  if (workloads.length === 0) return [];
  turn = (turn + 1) % 1_000_000;
  const first = turn % workloads.length;
  const even = Math.floor(slots / workloads.length);
  const rest = slots % workloads.length;
  return workloads
    .map((_, i) => ({
      workload: workloads[(first + i) % workloads.length] as WorkloadRow,
      share: even + (i < rest ? 1 : 0),
    }))
    .filter(({ share }) => share > 0);
}

/** Time to cancel a task, end its processes and report it. */
const DEADLINE_GRACE_MS = 15_000;

/** What a claim of up to `max` tasks found out about its workload. */
function tellHints(
  { ready, windows }: PipelineContext["pipeline"],
  workload_id: number,
  mark: HintMark,
  max: number,
  { tasks, limit }: Claim,
): void {
  if (limit?.left === 0) {
    const held = ready.hold(workload_id, mark, limit.by);
    if (!held || limit.by !== "rate") return;
    const { opens_in_ms, opening } = limit;
    windows.openIn(workload_id, opens_in_ms, () => ready.open(workload_id, opening));
  } else if (tasks.length < max) ready.empty(workload_id, mark);
  else if (limit) ready.left(workload_id, limit.left);
}

async function claimShare(
  { pipeline }: Pick<PipelineContext, "pipeline">,
  worker: PullWorkerRow,
  workload: WorkloadRow,
  share: number,
): Promise<SlotTasks[]> {
  const { workload_id, batch_size } = workload;
  const { lease_ms, timeout_ms } = limitsOf(workload);
  const max = share * batch_size;
  const mark = pipeline.ready.mark(workload_id);
  const claim = await pipeline.turns.call({
    op: "claim",
    worker: worker.incarnation,
    worker_id: worker.worker_id,
    workload_id,
    max,
    lease_ms,
    // The worker times each task and reports what it printed; this ends what a worker does not end.
    timeout_ms: timeout_ms === null ? null : timeout_ms * batch_size + DEADLINE_GRACE_MS,
    max_in_flight: workload.max_in_flight,
    rate_limit: workload.rate_limit,
  });
  const { tasks } = claim;
  tellHints(pipeline, workload_id, mark, max, claim);
  const batches: SlotTasks[] = [];
  for (let at = 0; at < tasks.length; at += batch_size)
    batches.push({ workload, tasks: tasks.slice(at, at + batch_size) });
  return batches;
}

/**
 * Like `claimTasks`; with nothing to do it waits for work for up to `wait_ms` or until the caller is gone. The caller's
 * signal is created only to wait, which most claims need not do.
 */
export async function awaitTasks(
  ctx: Pick<PipelineContext, "pipeline" | "clock" | "disk_room">,
  worker: PullWorkerRow,
  want: ClaimWant & { wait_ms: number },
  gone: () => AbortSignal,
): Promise<SlotTasks[]> {
  const { stopping } = ctx.pipeline;
  if (want.slots === 0) return [];
  const since = ctx.clock.monotonic();
  const until = since + want.wait_ms;
  const over = want.wait_ms > 0 ? AbortSignal.any([gone(), stopping]) : stopping;
  for (;;) {
    // A caller that has gone must not take tasks with it.
    if (over.aborted) return [];
    const known = ctx.pipeline.pullers.get(worker.worker_id) ?? worker;
    if (known.draining || known.incarnation !== worker.incarnation) return [];
    const waited_ms = Math.floor(ctx.clock.monotonic() - since);
    const batches = await claimTasks(ctx, known, want);
    if (waited_ms > 0) for (const batch of batches) batch.waited_ms = waited_ms;
    const left = until - ctx.clock.monotonic();
    if (batches.length > 0 || left <= 0 || ctx.pipeline.wanted.has(worker.worker_id))
      return batches;
    await workFor(ctx, known, want.exclude, left, over);
  }
}

/** Resolves when a workload this worker may run has work, when `ms` are over, or when `over` aborts. */
async function workFor(
  ctx: Pick<PipelineContext, "clock" | "pipeline" | "disk_room">,
  worker: PullWorkerRow,
  exclude: readonly string[],
  ms: number,
  over: AbortSignal,
): Promise<void> {
  const { clock, pipeline } = ctx;
  // News of work, or of the worker itself, that came while the previous claim was on its way to the database.
  if (candidates(ctx, worker, exclude).length > 0) return;
  if ((pipeline.pullers.get(worker.worker_id) ?? worker) !== worker) return;
  const woken = new AbortController();
  const stop = pipeline.ready.onWork((workload_id) => {
    if (workload_id === null) {
      woken.abort();
      return false;
    }
    const workload = pipeline.workloads.byId(workload_id);
    if (woken.signal.aborted || !workload?.enabled || exclude.includes(workload.slug)) return false;
    if (!mayRun(worker, workload)) return false;
    woken.abort();
    return true;
  });
  try {
    await clock.sleep(ms, AbortSignal.any([woken.signal, over]));
  } finally {
    stop();
  }
}
