import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** A wall clock that is steered moves a few parts in ten thousand; what it is further off by, it jumped. */
const JUMP_MS = 1_000;
/** Jumps that are remembered; whoever asks about a time before them gets an age that is too small, never too large. */
const KEPT = 20;

/** What is known of the jumps of this process' wall clock. */
export interface WallJumps {
  /** Looks whether it has jumped since the last look, and logs it. */
  look(): void;
  /**
   * The wall time up to which what was stored is at least `ms` old. After a jump forward that is what the clock showed
   * `ms` ago; after a jump back what was stored before it counts as younger than it is.
   */
  olderThan(ms: number): number;
  /** A moment that the monotonic clock has told, as the wall clock shows it now. The same again and again between jumps. */
  wallOf(monotonic: number): number;
}

export function createWallJumps(clock: Clock, log: Log): WallJumps {
  /** Wall time less monotonic time, from a moment of the latter on. */
  let offsets = [{ since: Number.NEGATIVE_INFINITY, offset: clock.now() - clock.monotonic() }];
  let current = offsets[0]?.offset ?? 0;
  /** What moments are shown with: it follows a clock that is steered in steps. */
  let shown = current;

  const look = () => {
    const now = clock.monotonic();
    const offset = clock.now() - now;
    const jumped_ms = offset - current;
    current = offset;
    if (Math.abs(offset - shown) >= JUMP_MS) shown = offset;
    if (Math.abs(jumped_ms) < JUMP_MS) return;
    offsets = [...offsets.slice(1 - KEPT), { since: now, offset }];
    log.warn(
      { jumped_ms, now: new Date(clock.now()).toISOString() },
      `the wall clock jumped ${jumped_ms > 0 ? "forward" : "back"} by ${Math.abs(jumped_ms) / 1_000} s: ` +
        "leases, sessions and deadlines go by the monotonic clock and are as they were",
    );
  };
  return {
    look,
    wallOf: (monotonic) => {
      look();
      return monotonic + shown;
    },
    olderThan: (ms) => {
      look();
      const then = clock.monotonic() - ms;
      const before = offsets.findLast(({ since }) => since <= then) ?? offsets[0];
      return Math.min(then + (before?.offset ?? current), then + current);
    },
  };
}
