import type { Clock } from "./clock.ts";

export interface HoldLimits {
  /** Bodies closer together than this belong to one burst, such as a page that loads. */
  quiet_ms: number;
  /** How long a burst may hold its work back, and how many bytes of it. */
  longest_ms: number;
  most_bytes: number;
}

export interface Hold {
  /** Announces a body of this many bytes; true when it may be worked on at once. */
  arrived(bytes: number): boolean;
  /** Ends the current hold, if any. */
  release(): void;
}

/**
 * Holds work on bodies back while they come in one after the other: the page that loads them needs the processor more,
 * and will have time to spare a moment later. The first body of a burst is never held.
 * @param onRelease called whenever what was held may go
 */
export function createHold(clock: Clock, limits: HoldLimits, onRelease: () => void): Hold {
  let last_at = Number.NEGATIVE_INFINITY;
  let count = 0;
  let held_bytes = 0;
  let holding: AbortController | null = null;

  const end = (hold: AbortController) => {
    if (holding !== hold) return;
    holding = null;
    held_bytes = 0;
    hold.abort();
    onRelease();
  };
  const watch = async (hold: AbortController): Promise<void> => {
    const since = clock.monotonic();
    for (let seen = -1; seen !== count && clock.monotonic() - since < limits.longest_ms; ) {
      seen = count;
      await clock.sleep(limits.quiet_ms, hold.signal);
      if (hold.signal.aborted) return;
    }
    end(hold);
  };
  return {
    arrived: (bytes) => {
      const now = clock.monotonic();
      const first = now - last_at >= limits.quiet_ms && !holding;
      last_at = now;
      count += 1;
      if (first) return true;
      held_bytes += bytes;
      if (!holding) {
        holding = new AbortController();
        void watch(holding);
      }
      if (held_bytes <= limits.most_bytes) return false;
      end(holding);
      return true;
    },
    release: () => {
      if (holding) end(holding);
    },
  };
}
