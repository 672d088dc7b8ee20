import type { UpdateOrder, UpdateReport, WorkerKind } from "#shared/protocol/schema/updates.ts";
import { WORKER_KINDS } from "#shared/protocol/schema/updates.ts";
import { type RolloutState, type Turn, turnKey } from "./state.ts";

/** A live worker, as the fleet sees it now. Times are epoch ms. */
export interface SeenWorker {
  kind: WorkerKind;
  worker_id: string;
  version: string;
  /** Whether it may be given work: a canary that may not cannot prove anything. */
  active: boolean;
  in_flight: number;
  /** Why it could not do a job; null when it could. */
  unwell: string | null;
  report: UpdateReport | null;
  /** Whether it waits for the hub's order before it updates. */
  waits_for_order: boolean;
  /** Since when this process of the worker is known. */
  since: number;
}

/** What the canaries have shown, by `turnKey`, for those that are proving. */
export type Proofs = ReadonlyMap<string, { ok: boolean; how: string }>;

export interface Circumstances {
  now: number;
  /** Versions of every live hub, including this one. */
  hub_versions: readonly string[];
  workers: readonly SeenWorker[];
  /** Kinds of worker that this process sees: it knows nothing of the others, not even that they are away. */
  kinds: readonly WorkerKind[];
  proofs: Proofs;
  /** When this process began to look: a worker that has been away since before then may have been connected earlier. */
  watching_since: number;
  parallel: number;
  approval: "auto" | "manual";
  deadline_ms: number;
}

/** The log line of a decision. */
export interface News {
  level: "info" | "warn" | "error";
  message: string;
  fields: Record<string, unknown>;
}

/** How long a temporary refusal may last, such as a cut download; the worker tries again by itself. */
const REFUSED_MS = 90_000;
const HISTORY = 10;

/** The version this worker should have; null while that is not known. */
export const wantedOf = (
  { target, pin, worker_pins }: Pick<RolloutState, "target" | "pin" | "worker_pins">,
  worker_id: string,
): string | null => worker_pins[worker_id] ?? pin ?? target;

export const isActive = ({ state }: Turn): boolean => state === "ordered" || state === "proving";

export const hubsAgree = (versions: readonly string[]): boolean => new Set(versions).size <= 1;

/**
 * The next state of the roll-out: one worker after the other, a canary of each kind first. It is a plain function of
 * what was stored and what is seen, so whichever hub decides, decides the same.
 */
export function decide(
  before: RolloutState,
  seen: Circumstances,
): { state: RolloutState; news: News[] } {
  const state = structuredClone(before);
  const news: News[] = [];
  followTarget(state, seen, news);
  for (const [key, turn] of Object.entries(state.turns)) {
    if (!seen.kinds.includes(turn.kind)) continue;
    const worker = seen.workers.find(
      ({ kind, worker_id }) => kind === turn.kind && worker_id === turn.worker_id,
    );
    if (!advance(state, key, turn, worker, seen, news)) delete state.turns[key];
  }
  give(state, seen, news);
  return { state, news };
}

/** While hubs are upgraded one after the other, no worker moves before they all have one version. */
function followTarget(state: RolloutState, { hub_versions }: Circumstances, news: News[]): void {
  const [version] = hub_versions;
  const target = state.pin ?? (hubsAgree(hub_versions) ? version : undefined) ?? state.target;
  if (target === state.target) return;
  if (state.target !== null)
    news.push({ level: "info", message: "the fleet goes to another version", fields: { target } });
  state.history = [target, state.target, ...state.history]
    .filter((one, i, all): one is string => one !== null && all.indexOf(one) === i)
    .slice(0, HISTORY);
  state.target = target;
  state.proven = [];
  state.failure = null;
  if (state.approved !== target) state.approved = null;
  // A worker on its way to another version keeps its turn until it is back: no second worker goes in the meantime.
  for (const [key, turn] of Object.entries(state.turns))
    if (!isActive(turn)) delete state.turns[key];
}

const enter = (turn: Turn, to: Turn["state"], now: number, error: string | null = null): void => {
  turn.state = to;
  turn.since = now;
  turn.error = error;
  turn.away_since = turn.unwell_since = turn.refused_since = null;
};

/** @returns false when the turn is over and can be forgotten. */
function advance(
  state: RolloutState,
  key: string,
  turn: Turn,
  worker: SeenWorker | undefined,
  seen: Circumstances,
  news: News[],
): boolean {
  const { now, deadline_ms } = seen;
  const wanted = wantedOf(state, turn.worker_id);
  if (!isActive(turn)) {
    learnWhy(state, turn, worker);
    return remember(turn, worker, wanted, now);
  }
  const fail = (error: string) => {
    enter(turn, "failed", now, error);
    const { kind, worker_id, target: version } = turn;
    news.push({
      level: "error",
      message: "an update failed: the others keep their version",
      fields: { worker_id, kind, version, error, canary: turn.canary },
    });
    // The outcome of a version that is not the wanted one stops nothing.
    if (wanted !== version) return false;
    state.failure = { kind, worker_id, version, error, at: now };
    state.approved = null;
    return true;
  };
  const seconds = Math.round(deadline_ms / 1_000);
  if (!worker) {
    turn.away_since = Math.max(turn.away_since ?? now, seen.watching_since);
    if (now - turn.away_since <= deadline_ms) return true;
    return fail(`the worker did not come back within ${seconds} s`);
  }
  turn.away_since = null;
  // Another version is wanted by now: the turn lasts until the worker can be given that order.
  if (wanted !== turn.target) return worker.report?.state === "draining";
  if (worker.version !== turn.target) return stillOld(turn, worker, seen, fail);
  if (turn.state === "ordered") enter(turn, "proving", now);
  if (worker.unwell !== null) {
    turn.unwell_since ??= now;
    if (now - turn.unwell_since <= deadline_ms) return true;
    return fail(`the worker is back, but not well after ${seconds} s: ${worker.unwell}`);
  }
  turn.unwell_since = null;
  const proof = turn.canary ? seen.proofs.get(key) : undefined;
  if (proof && !proof.ok) return fail(proof.how);
  // A worker that was taken out of service gets no work, so another one must be the canary.
  if (turn.canary && !proof && worker.active) {
    // A job takes the time it takes.
    if (worker.in_flight > 0 || now - turn.since <= deadline_ms) return true;
    return fail(`the worker has done no job on ${turn.target} within ${seconds} s`);
  }
  if (proof) state.proven = [...new Set([...state.proven, turn.kind])];
  const { kind, worker_id, target: version } = turn;
  news.push({
    level: "info",
    message: turn.canary && proof ? "the canary works on its new version" : "a worker was updated",
    fields: { worker_id, kind, version, ...(proof && { proof: proof.how }) },
  });
  enter(turn, "done", now);
  return true;
}

/** A worker that came back late reports what happened meanwhile. */
function learnWhy({ failure }: RolloutState, turn: Turn, worker: SeenWorker | undefined): void {
  const report = worker?.report;
  if (turn.state !== "failed" || report?.target !== turn.target || !report.rolled_back) return;
  turn.rolled_back = true;
  turn.error = report.error ?? turn.error;
  if (failure?.worker_id === turn.worker_id && failure.kind === turn.kind)
    failure.error = turn.error ?? failure.error;
}

/** A turn that is over is kept for as long as it is of interest. */
function remember(
  turn: Turn,
  worker: SeenWorker | undefined,
  wanted: string | null,
  now: number,
): boolean {
  if (turn.target !== wanted) return false;
  if (!worker) return true;
  if (worker.version === turn.target) {
    // A person has updated it by hand. A worker that failed on the version stays listed.
    if (turn.state === "off" || turn.rolled_back) enter(turn, "done", now);
    return true;
  }
  // It has since gone back to another version, or was restarted with other settings.
  return turn.state === "failed" || (turn.state === "off" && worker.since <= turn.since);
}

/** It was ordered to update, but has its old version. */
function stillOld(
  turn: Turn,
  worker: SeenWorker,
  { now, deadline_ms }: Circumstances,
  fail: (error: string) => boolean,
): boolean {
  const { report } = worker;
  const told = report?.target === turn.target ? report : null;
  if (told?.state === "failed") {
    const error = told.error ?? "the worker gave no reason";
    if (told.off || / is 0$/.test(error)) {
      enter(turn, "off", now, error);
      return true;
    }
    turn.rolled_back = told.rolled_back ?? / failed here: /.test(error);
    turn.refused_since ??= now;
    if (turn.rolled_back || now - turn.refused_since > REFUSED_MS) return fail(error);
    return true;
  }
  turn.refused_since = null;
  if (turn.state === "proving")
    return fail(`the worker ran ${turn.target} and has gone back to ${worker.version}`);
  // While it reports progress, it may take as long as its jobs and sessions need.
  if (told !== null || now - turn.since <= deadline_ms) return true;
  const seconds = Math.round(deadline_ms / 1_000);
  enter(turn, "off", now, `the worker has not begun to update within ${seconds} s`);
  return true;
}

/**
 * The order for a worker. A worker that failed on its new version is sent back to its old one, where the others still
 * are and where it can work.
 */
export function orderOf(
  state: RolloutState,
  { kind, worker_id, version }: Pick<SeenWorker, "kind" | "worker_id" | "version">,
): UpdateOrder {
  const wanted = wantedOf(state, worker_id);
  if (wanted === null) return { target: version, go: false };
  const turn = state.turns[turnKey({ kind, worker_id })];
  if (turn?.target !== wanted) return { target: wanted, go: false };
  if (turn.state === "failed" && version === wanted) return { target: turn.from, go: true };
  return { target: wanted, go: turn.state === "ordered" && version !== wanted };
}

/** Why no worker may be sent now; null when one may. */
export function heldBack(
  state: RolloutState,
  { hub_versions }: Pick<Circumstances, "hub_versions">,
): "paused" | "stopped" | "waiting_for_hubs" | null {
  if (state.paused_since !== null) return "paused";
  if (state.failure !== null) return "stopped";
  if (state.pin === null && !hubsAgree(hub_versions)) return "waiting_for_hubs";
  return null;
}

/** The workers that go next; the canary of a kind goes alone. */
function give(state: RolloutState, seen: Circumstances, news: News[]): void {
  if (heldBack(state, seen) !== null) return;
  let free = seen.parallel - Object.values(state.turns).filter(isActive).length;
  const waiting = seen.workers.filter((worker) => isWaiting(state, worker)).sort(byPreference);
  for (const kind of WORKER_KINDS)
    for (const worker of waiting.filter((one) => one.kind === kind)) {
      if (free <= 0) return;
      const role = roleOf(state, seen, worker);
      if (role === null) continue;
      free -= 1;
      order(state, worker, role === "canary", seen.now, news);
    }
}

export function isWaiting(state: RolloutState, worker: SeenWorker): boolean {
  const wanted = wantedOf(state, worker.worker_id);
  return (
    wanted !== null &&
    worker.version !== wanted &&
    worker.waits_for_order &&
    worker.report?.off !== true &&
    state.turns[turnKey(worker)] === undefined
  );
}

/** A canary must be a worker that gets work; the most idle one has the fewest jobs to finish. */
const byPreference = (a: SeenWorker, b: SeenWorker): number =>
  Number(b.active) - Number(a.active) ||
  a.in_flight - b.in_flight ||
  (a.worker_id < b.worker_id ? -1 : 1);

function roleOf(
  state: RolloutState,
  { approval }: Circumstances,
  { kind, worker_id }: SeenWorker,
): "canary" | "follower" | null {
  // An operator has pinned this one.
  if (state.worker_pins[worker_id] !== undefined) return "follower";
  const approved = state.target !== null && state.approved === state.target;
  if (approved) return "follower";
  if (state.proven.includes(kind)) return approval === "manual" ? null : "follower";
  const has_canary = Object.values(state.turns).some(
    (turn) => turn.kind === kind && turn.canary && isActive(turn),
  );
  return has_canary ? null : "canary";
}

function order(
  state: RolloutState,
  { kind, worker_id, version: from }: SeenWorker,
  canary: boolean,
  now: number,
  news: News[],
): void {
  const target = wantedOf(state, worker_id) ?? from;
  state.turns[turnKey({ kind, worker_id })] = {
    kind,
    worker_id,
    from,
    target,
    canary,
    state: "ordered",
    since: now,
    away_since: null,
    unwell_since: null,
    refused_since: null,
    error: null,
    rolled_back: false,
  };
  news.push({
    level: "info",
    message: canary
      ? "a canary should take the new version"
      : "a worker should take the new version",
    fields: { worker_id, kind, from, version: target },
  });
}
