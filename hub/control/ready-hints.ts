/** Which workloads may have ready tasks: a claim asks the database for these only. */
export interface ReadyHints {
  has(workload_id: number): boolean;
  /** There is new work; wakes claims that wait. */
  add(workload_id: number, ready: number): void;
  /** The last claim found less than it asked for. */
  empty(workload_id: number): void;
  /** Calls back when work arrives; gives the function that stops it. */
  onWork(callback: (workload_id: number) => boolean): () => void;
}

/**
 * Waiting claims are asked in the order they came whether they take the new work, as many as there are tasks for; so a
 * single task wakes one of a thousand idle workers and not all of them.
 */
export function createReadyHints(): ReadyHints {
  const ready = new Set<number>();
  const waiting = new Set<(workload_id: number) => boolean>();
  return {
    has: (workload_id) => ready.has(workload_id),
    add: (workload_id, count) => {
      ready.add(workload_id);
      let left = count;
      for (const take of waiting) {
        if (left <= 0) break;
        if (take(workload_id)) left -= 1;
      }
    },
    empty: (workload_id) => void ready.delete(workload_id),
    onWork: (callback) => {
      waiting.add(callback);
      return () => void waiting.delete(callback);
    },
  };
}
