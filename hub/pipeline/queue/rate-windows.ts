import type { Clock } from "#shared/kit/clock.ts";

/** Rate-limited workloads that wait for places. */
export interface RateWindows {
  /** Calls `opened` in `ms`, unless an earlier opening of the workload is already awaited. */
  openIn(workload_id: number, ms: number, opened: () => void): void;
}

interface Awaited {
  at: number;
  left: AbortController;
}

/** One timer for each workload that its rate limit holds back, until `stopping` aborts. */
export function createRateWindows(clock: Clock, stopping: AbortSignal): RateWindows {
  const awaited = new Map<number, Awaited>();
  return {
    openIn: (workload_id, ms, opened) => {
      const at = clock.monotonic() + ms;
      const known = awaited.get(workload_id);
      if (stopping.aborted || (known && known.at <= at)) return;
      known?.left.abort();
      const left = new AbortController();
      awaited.set(workload_id, { at, left });
      void clock.sleep(ms, AbortSignal.any([left.signal, stopping])).then(() => {
        if (left.signal.aborted) return;
        awaited.delete(workload_id);
        if (!stopping.aborted) opened();
      });
    },
  };
}
