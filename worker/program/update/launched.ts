/**
 * What the program passes to an updated version that it runs in its own process, and what a started version reports to
 * its launcher. Programs of different versions communicate through this: it may grow, but never change.
 */

const MARK = Symbol.for("flotilla.launched");

/** The worker has another version to run from now on (rules/updates#exit-42). */
export const EXIT_UPDATED = 42;

/** How an updated version was started. */
export interface Launched {
  /** Version of the program that started it. */
  base: string;
  /** Command that starts the program. */
  self: string[];
  /** Its release key, if it was built with one; programs of earlier versions give none. */
  release?: { key: string; released_at: string } | null;
}

/** Null in a version that was not started by another one. */
export const launchedBy = (): Launched | null =>
  (globalThis as { [MARK]?: Launched })[MARK] ?? null;

export function markLaunched(launched: Launched): void {
  (globalThis as { [MARK]?: Launched })[MARK] = launched;
}

/** Set for a process whose version is on trial: a launcher waits for its handshake. */
export const TRIAL_ENV = "FLOTILLA_ON_TRIAL";

/** What such a process sends its launcher once the hub has registered it. */
export const REGISTERED = "flotilla registered";

/** Notifies the launcher, if there is one. Idempotent. */
export const tellRegistered = (): void => void process.send?.(REGISTERED);
