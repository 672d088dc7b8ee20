import type { Clock } from "#shared/kit/clock.ts";
import {
  type BrokenExecutor,
  MAX_BROKEN,
  MAX_BROKEN_ERROR,
  MAX_BROKEN_TRACE,
} from "#shared/protocol/schema/executor.ts";

/** How long a workload that could not be run is not claimed; doubles each time. */
export const BROKEN_MS = { first: 1_000, most: 60_000 };

interface Broken {
  revision: string;
  error: string;
  trace: string;
  /** Monotonic. */
  since: number;
  wait: number;
  /** Monotonic. */
  until: number;
}

/** The workloads whose code this worker could not load, by the settings it tried. */
export function createBrokenExecutors(clock: Clock, onChange: () => void) {
  const broken = new Map<string, Broken>();
  return {
    mark: (workload: string, revision: string, error: string, trace: string): void => {
      const known = broken.get(workload);
      // New settings start over: the wait of the old ones does not apply to them.
      const before = known?.revision === revision ? known : undefined;
      const wait = Math.min(BROKEN_MS.most, (before?.wait ?? BROKEN_MS.first / 2) * 2);
      broken.set(workload, {
        revision,
        error: error.slice(0, MAX_BROKEN_ERROR),
        // The last lines of a traceback have the reason.
        trace: trace.slice(-MAX_BROKEN_TRACE),
        since: before?.since ?? clock.monotonic(),
        wait,
        until: clock.monotonic() + wait,
      });
      if (!before) onChange();
    },
    /** Its code loads, or should no longer run here. */
    clear: (workload: string): void => {
      if (broken.delete(workload)) onChange();
    },
    /** Workloads that must not be claimed yet. */
    excluded: (): string[] => {
      const now = clock.monotonic();
      return [...broken].filter(([, { until }]) => until > now).map(([slug]) => slug);
    },
    list: (): BrokenExecutor[] =>
      [...broken].slice(0, MAX_BROKEN).map(([workload, { revision, error, trace, since }]) => ({
        workload,
        revision,
        error,
        trace,
        broken_ms: Math.round(clock.monotonic() - since),
      })),
  };
}
export type BrokenExecutors = ReturnType<typeof createBrokenExecutors>;
