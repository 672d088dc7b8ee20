import type { Clock } from "#shared/clock.ts";

/** Bodies closer together than this belong to one burst, such as a page that loads. */
const QUIET_MS = 50;
/** What a burst may keep back: its bodies wait on the disk of the worker, and nobody else sees them meanwhile. */
const LONGEST_HOLD_MS = 5_000;
const MOST_HELD_BYTES = 16 * 1024 * 1024;

export interface Hold {
  /** Tells of a body of so many bytes; true when it may be sent at once. */
  arrived(bytes: number): boolean;
  /** Ends the hold that is on, if any. */
  release(): void;
}

/**
 * Keeps uploads back while bodies come in one after the other: the page that loads them needs the processor more than
 * their upload does, and has it to spare a moment later. The first body of a burst is never held.
 * @param onRelease called whenever what was held may go
 */
export function createHold(clock: Clock, onRelease: () => void): Hold {
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
    const since = clock.now();
    for (let seen = -1; seen !== count && clock.now() - since < LONGEST_HOLD_MS; ) {
      seen = count;
      await clock.sleep(QUIET_MS, hold.signal);
      if (hold.signal.aborted) return;
    }
    end(hold);
  };
  return {
    arrived: (bytes) => {
      const now = clock.now();
      const first = now - last_at >= QUIET_MS && !holding;
      last_at = now;
      count += 1;
      if (first) return true;
      held_bytes += bytes;
      if (!holding) {
        holding = new AbortController();
        void watch(holding);
      }
      if (held_bytes <= MOST_HELD_BYTES) return false;
      end(holding);
      return true;
    },
    release: () => {
      if (holding) end(holding);
    },
  };
}
