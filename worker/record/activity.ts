import type { Clock } from "#shared/clock.ts";

/** A request that has made no progress for this long is given up: it no longer keeps a job waiting. */
export const STALL_MS = 20_000;

/** What the network is doing: the source of idle detection. Driven by events, never polled. */
export interface Activity {
  begin(id: string): void;
  progress(id: string): void;
  /** It will not end by itself (event streams): no longer noise. */
  ignore(id: string): void;
  end(id: string): void;
  /** Requests begun so far. */
  readonly begun: number;
  /** Requests that are neither over, endless nor stalled. */
  open(): number;
  /** Resolves when nothing began, ended or was open for `quiet_ms`, or when `signal` aborts. */
  idle(quiet_ms: number, signal: AbortSignal): Promise<void>;
}

export function createActivity(clock: Clock): Activity {
  /** Open requests with the time of their last progress. */
  const live = new Map<string, number>();
  let begun = 0;
  let changed_at = clock.monotonic();
  let wake = new AbortController();

  const remove = (id: string) => {
    if (!live.delete(id)) return;
    changed_at = clock.monotonic();
    if (open() === 0) wake.abort();
  };
  const open = () => {
    const oldest = clock.monotonic() - STALL_MS;
    return [...live.values()].filter((at) => at > oldest).length;
  };
  const lastProgress = () => Math.max(...live.values());
  return {
    get begun() {
      return begun;
    },
    begin: (id) => {
      begun += 1;
      changed_at = clock.monotonic();
      live.set(id, changed_at);
    },
    progress: (id) => {
      if (live.has(id)) live.set(id, clock.monotonic());
    },
    ignore: remove,
    end: remove,
    open,
    idle: async (quiet_ms, signal) => {
      while (!signal.aborted) {
        const now = clock.monotonic();
        const busy_until = live.size === 0 ? 0 : lastProgress() + STALL_MS;
        // A stalled request went quiet when it last moved, not when it was given up.
        const until = busy_until > now ? busy_until : changed_at + quiet_ms;
        if (until <= now) return;
        wake = new AbortController();
        await clock.sleep(until - now, AbortSignal.any([signal, wake.signal]));
      }
    },
  };
}
