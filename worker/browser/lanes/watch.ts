import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { type Loop, startLoop } from "#shared/kit/loop.ts";
import { isAlive } from "#shared/kit/proc.ts";
import type { StartedBrowser } from "../process/launch.ts";
import { reapOrphans } from "../process/reap.ts";
import { findByTag, sumProportional, sumResident } from "../process/tagged.ts";
import type { Display } from "./display.ts";

const WATCH_MS = 5_000;
const PING_MS = 5_000;
const MAX_MISSES = 3;
/** The VNC server is asked for its greeting once in this many passes. */
const GREET_EVERY = 6;

/** What the watch sees and may do; the lane implements it. */
export interface Watched {
  /** The browser to look at; null while there is none to judge (booting, resetting, …). */
  browser(): StartedBrowser | null;
  display(): Display | null;
  isIdle(): boolean;
  /** Ends the browser; its exit does the rest. */
  endBrowser(reason: string): Promise<void>;
  endDisplay(reason: string): Promise<void>;
  /** Replaces an idle browser. */
  recycle(reason: string): void;
}

export interface WatchLimits {
  soft_bytes: number;
  hard_bytes: number;
}

/** What one pass remembers for the next. */
export interface WatchMemory {
  misses: number;
  passes: number;
  browser: StartedBrowser | null;
}

export const newWatchMemory = (): WatchMemory => ({ misses: 0, passes: 0, browser: null });

/**
 * Checks a lane once: a ping over the browser session (which a hung page does not affect), memory, the VNC greeting.
 * The browser is ended when it sent nothing at all after three pings in a row, or when its memory is above the hard
 * cap. Above the soft cap only an idle browser is replaced: after a job it is replaced anyway.
 */
export async function watchOnce(
  lane: Watched,
  limits: WatchLimits,
  memory: WatchMemory,
): Promise<void> {
  memory.passes += 1;
  const display = lane.display();
  if (display && memory.passes % GREET_EVERY === 0) {
    const failure = await failureOf(display.greet());
    if (failure !== null && display === lane.display()) return lane.endDisplay(failure);
  }
  const browser = lane.browser();
  if (browser !== memory.browser) Object.assign(memory, { browser, misses: 0 });
  if (!browser) return;
  memory.misses = (await isAwake(browser)) ? 0 : memory.misses + 1;
  if (browser !== lane.browser()) return;
  if (memory.misses >= MAX_MISSES)
    return lane.endBrowser(`was silent for ${MAX_MISSES} pings of ${PING_MS / 1_000} s`);
  await checkMemory(lane, browser, limits);
}

/**
 * The answer may wait behind 64 MB of a body, or a gigabyte that streams by: anything that arrives is a sign of
 * life.
 */
async function isAwake({ connection }: StartedBrowser): Promise<boolean> {
  const { heard } = connection;
  const ping = connection.root.send("Browser.getVersion", undefined, { timeout_ms: PING_MS });
  return (await failureOf(ping)) === null || connection.heard !== heard;
}

async function checkMemory(
  lane: Watched,
  browser: StartedBrowser,
  limits: WatchLimits,
): Promise<void> {
  const members = findByTag((tag) => tag === browser.tag, [browser.pid]);
  reapOrphans(members, (pid) => pid === browser.pid);
  const alive = members.filter(isAlive);
  // The cheap sum is never below the true one.
  if (sumResident(alive) <= limits.soft_bytes) return;
  const bytes = sumProportional(alive);
  const mb = Math.round(bytes / 1024 ** 2);
  if (bytes > limits.hard_bytes)
    return lane.endBrowser(`used ${mb} MiB, above SVC_LANE_HARD_BYTES`);
  if (bytes > limits.soft_bytes && lane.isIdle())
    lane.recycle(`used ${mb} MiB while idle, above SVC_LANE_SOFT_BYTES`);
}

const failureOf = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (err) => errorMessage(err),
  );

export function startWatch(lane: Watched, limits: WatchLimits, clock: Clock, log: Log): Loop {
  const memory = newWatchMemory();
  return startLoop({
    name: "lane-watch",
    everyMs: WATCH_MS,
    clock,
    log,
    pass: () => watchOnce(lane, limits, memory),
  });
}
