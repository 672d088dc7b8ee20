/** What was known about a workload at some moment; a claim that began then may report what it found. */
export interface HintMark {
  told: number;
  opened: number;
}

/** Why no ready task of a workload may be claimed. */
export type HeldBy = "in_flight" | "rate";

/** Which workloads may have ready tasks and places for them: a claim asks the database only about these. */
export interface ReadyHints {
  /** There may be ready tasks, and nothing holds them back. */
  has(workload_id: number): boolean;
  /** What its ready tasks wait for; null: nothing, or there are none. */
  heldBy(workload_id: number): HeldBy | null;
  /** Names what was known at this moment, for `empty` and `hold`. */
  mark(workload_id: number): HintMark;
  /** There is new work; wakes claims that wait, unless its limits hold the workload. */
  add(workload_id: number, ready: number): void;
  /** A claim begun at `mark` found less than its limits allow. Work announced since then stays known. */
  empty(workload_id: number, mark: HintMark): void;
  /** A claim begun at `mark` left no place. A place announced since then stays known: then the answer is false. */
  hold(workload_id: number, mark: HintMark, by: HeldBy): boolean;
  /** Places are free: as many waiting claims are woken, if there may be ready tasks. */
  open(workload_id: number, places: number): void;
  /** A claim got all it asked for and left places: when the limits held tasks back before, others take them. */
  left(workload_id: number, places: number): void;
  /** Calls back when work arrives; gives the function that stops it. */
  onWork(callback: (workload_id: number | null) => boolean): () => void;
  /** Calls every waiting claim back with null because something else changed, such as a worker that drains. */
  nudge(): void;
}

interface Hint {
  told: number;
  held: HeldBy | null;
  /** The limits have held tasks back since the queue was last found empty, so the number of ready tasks is unknown. */
  backlog: boolean;
}

/**
 * Waiting claims are offered the new work in the order they came, only as many as there are tasks or places; so a
 * single task wakes one of a thousand idle workers and not all of them.
 */
export function createReadyHints(): ReadyHints {
  const hints = new Map<number, Hint>();
  /** When places were last announced; kept while nothing is known to be ready, for claims that are on their way. */
  const opened = new Map<number, number>();
  let moment = 0;
  const waiting = new Set<(workload_id: number | null) => boolean>();

  const wake = (workload_id: number, count: number) => {
    let left = count;
    for (const take of waiting) {
      if (left <= 0) break;
      if (take(workload_id)) left -= 1;
    }
  };
  return {
    has: (workload_id) => hints.get(workload_id)?.held === null,
    heldBy: (workload_id) => hints.get(workload_id)?.held ?? null,
    mark: (workload_id) => ({
      told: hints.get(workload_id)?.told ?? 0,
      opened: opened.get(workload_id) ?? 0,
    }),
    add: (workload_id, count) => {
      const hint = hints.get(workload_id) ?? { told: 0, held: null, backlog: false };
      hint.told = ++moment;
      hints.set(workload_id, hint);
      if (hint.held === null) wake(workload_id, count);
    },
    empty: (workload_id, mark) => {
      if (hints.get(workload_id)?.told === mark.told) hints.delete(workload_id);
    },
    hold: (workload_id, mark, by) => {
      const hint = hints.get(workload_id);
      if (!hint || mark.opened !== (opened.get(workload_id) ?? 0)) return false;
      hint.held = by;
      hint.backlog = true;
      return true;
    },
    open: (workload_id, places) => {
      opened.set(workload_id, ++moment);
      const hint = hints.get(workload_id);
      if (!hint) return;
      hint.held = null;
      wake(workload_id, places);
    },
    left: (workload_id, places) => {
      const hint = hints.get(workload_id);
      if (hint?.backlog && hint.held === null) wake(workload_id, places);
    },
    nudge: () => {
      for (const take of waiting) take(null);
    },
    onWork: (callback) => {
      waiting.add(callback);
      return () => void waiting.delete(callback);
    },
  };
}

/** Anything of the workload may have changed, its limits too, so every waiting claim looks again. */
export function lookAgain(hints: ReadyHints, workload_id: number): void {
  hints.open(workload_id, 0);
  hints.add(workload_id, Number.POSITIVE_INFINITY);
}
