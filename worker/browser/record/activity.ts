import type { Clock } from "#shared/kit/clock.ts";

/** A request that has made no progress for this long is given up: it no longer keeps a job waiting. */
export const STALL_MS = 20_000;

/** What the network is doing: the source of idle detection. Driven by events, never polled. */
export interface Activity {
  begin(id: string): void;
  progress(id: string): void;
  /** The request will not end by itself (event streams): it no longer counts as activity. */
  ignore(id: string): void;
  end(id: string): void;
  /** Its end was noticed after the fact: it has been quiet since its last progress. */
  settle(id: string): void;
  /** A request that seemed to be over goes on after all. */
  resume(id: string): void;
  /** The page can make new requests: it has loaded, started a worker, or was busy until now. */
  touch(): void;
  /** Number of requests that have begun so far. */
  readonly begun: number;
  /** Requests that are neither over, endless nor stalled. */
  open(): number;
  /**
   * Resolves when nothing began, ended or was open for `quiet_ms`, nor from then until `answered` resolved, or when
   * `signal` aborts.
   */
  idle(quiet_ms: number, signal: AbortSignal, answered?: () => Promise<void>): Promise<void>;
}

export function createActivity(clock: Clock): Activity {
  /** Open requests with the time of their last progress. */
  const live = new Map<string, number>();
  let begun = 0;
  let changed_at = clock.monotonic();
  let wake = new AbortController();

  const remove = (id: string, at: number) => {
    if (!live.delete(id)) return;
    changed_at = Math.max(changed_at, at);
    if (open() === 0) wake.abort();
  };
  const open = () => {
    const oldest = clock.monotonic() - STALL_MS;
    return [...live.values()].filter((at) => at > oldest).length;
  };
  const lastProgress = () => Math.max(...live.values());
  /** When the network will have been quiet for that long, as far as is known now. */
  const quietAt = (quiet_ms: number) => {
    const busy_until = live.size === 0 ? 0 : lastProgress() + STALL_MS;
    // A stalled request went quiet when it last moved, not when it was given up.
    return busy_until > clock.monotonic() ? busy_until : changed_at + quiet_ms;
  };
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
    ignore: (id) => remove(id, clock.monotonic()),
    end: (id) => remove(id, clock.monotonic()),
    resume: (id) => {
      changed_at = clock.monotonic();
      live.set(id, changed_at);
    },
    settle: (id) => remove(id, live.get(id) ?? 0),
    touch: () => {
      changed_at = clock.monotonic();
    },
    open,
    idle: async (quiet_ms, signal, answered = async () => {}) => {
      const aborted = new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      while (!signal.aborted) {
        const now = clock.monotonic();
        const until = quietAt(quiet_ms);
        if (until <= now) {
          await Promise.race([answered(), aborted]);
          if (quietAt(quiet_ms) <= now) return;
          continue;
        }
        wake = new AbortController();
        await clock.sleep(until - now, AbortSignal.any([signal, wake.signal]));
      }
    },
  };
}
