import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** A wall clock that is being slewed moves by a few parts in ten thousand; anything beyond that is a jump. */
const JUMP_MS = 1_000;
/** Clocks of other machines may be ahead by this much. */
const AHEAD_MS = 30_000;
/** How many jumps are remembered; times before the oldest seem too recent, never too old. */
const KEPT = 20;

/** Known jumps of this process' wall clock. */
export interface WallJumps {
  /** Checks whether it has jumped since the last check, and logs it. */
  look(): void;
  /**
   * The wall time up to which stored data are at least `ms` old. After a jump forward, that is what the clock showed
   * `ms` ago; after a jump back, what was stored before counts as younger than it is.
   */
  olderThan(ms: number): number;
  /**
   * How old, in ms, what was stored at this wall time is, whatever the clock has done since; 0 for a time that is still to
   * come. The clock may show a time twice after a jump back: then it is the later one.
   */
  ageOf(wall: number): number;
  /** Converts a monotonic time to what the wall clock shows for it now. The result is stable between jumps. */
  wallOf(monotonic: number): number;
}

export function createWallJumps(clock: Clock, log: Log): WallJumps {
  /** Wall time minus monotonic time, from a given monotonic time on. */
  let offsets = [{ since: Number.NEGATIVE_INFINITY, offset: clock.now() - clock.monotonic() }];
  let current = offsets[0]?.offset ?? 0;
  /** The offset used to display times: it follows a slewed clock in steps. */
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
        "leases, sessions and deadlines use the monotonic clock and are not affected",
    );
  };
  return {
    look,
    wallOf: (monotonic) => {
      look();
      return monotonic + shown;
    },
    ageOf: (wall) => {
      look();
      const now = clock.monotonic();
      // The latest moment at which the clock showed that time: with each offset only until the next one began.
      const moments = offsets.map(({ offset }, i) => {
        const next = offsets[i + 1];
        const at = wall - (next ? offset : current);
        return at <= (next?.since ?? now + AHEAD_MS) ? at : Number.NEGATIVE_INFINITY;
      });
      const stored = Math.max(...moments);
      return stored === Number.NEGATIVE_INFINITY ? 0 : Math.max(0, now - stored);
    },
    olderThan: (ms) => {
      look();
      const then = clock.monotonic() - ms;
      const before = offsets.findLast(({ since }) => since <= then) ?? offsets[0];
      return Math.min(then + (before?.offset ?? current), then + current);
    },
  };
}
