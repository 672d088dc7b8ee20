/** Which workloads may have ready tasks: a claim asks the database for these only. */
export interface ReadyHints {
  has(workload_id: number): boolean;
  /** Names what was known at this moment, for `empty`. */
  mark(workload_id: number): number;
  /** There is new work; wakes claims that wait. */
  add(workload_id: number, ready: number): void;
  /** A claim begun at `mark` found less than it asked for. Work that was told of since then stays known. */
  empty(workload_id: number, mark: number): void;
  /** Calls back when work arrives; gives the function that stops it. */
  onWork(callback: (workload_id: number | null) => boolean): () => void;
  /** Calls every waiting claim back with null: something else changed, such as a worker that drains. */
  nudge(): void;
}

/**
 * Waiting claims are asked in the order they came whether they take the new work, as many as there are tasks for; so a
 * single task wakes one of a thousand idle workers and not all of them.
 */
export function createReadyHints(): ReadyHints {
  const ready = new Map<number, number>();
  let told = 0;
  const waiting = new Set<(workload_id: number | null) => boolean>();
  return {
    has: (workload_id) => ready.has(workload_id),
    mark: (workload_id) => ready.get(workload_id) ?? 0,
    add: (workload_id, count) => {
      ready.set(workload_id, ++told);
      let left = count;
      for (const take of waiting) {
        if (left <= 0) break;
        if (take(workload_id)) left -= 1;
      }
    },
    empty: (workload_id, mark) => {
      if (ready.get(workload_id) === mark) ready.delete(workload_id);
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
