import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { UpdateReport } from "#shared/protocol/schema/updates.ts";

/** The version that a worker should have, and what people should know of its way there. */
export interface Aim {
  /** The running version while there is nothing to do. */
  target(): string;
  set(target: string): void;
  /** There is nothing to do. */
  clear(): void;
  /** Null while there is nothing to report. */
  report(): UpdateReport | null;
  reached(state: "fetching" | "waiting" | "draining", target: string): void;
  /** The target was not taken. */
  refuse(reason: string, rolled_back?: boolean): void;
  refuseWith(err: unknown): void;
  /** A version that is not even tried: it has failed here before. */
  rejected(offer: string, reason: string): void;
  /** The operator has turned updates off with the variable `by`. */
  turnedOff(by: string): void;
}

export function createAim(version: string, log: Log): Aim {
  let target = version;
  let report: UpdateReport | null = null;
  const failed = (error: string, of = target): UpdateReport => ({
    target: of,
    state: "failed",
    error: error.slice(0, 1_000),
  });
  const refuse = (reason: string, rolled_back = false) => {
    // It must no longer be installed.
    if (target === version) return;
    report = rolled_back ? { ...failed(reason), rolled_back } : failed(reason);
    log.error({ version, target, reason }, "update not installed; keeping this version");
  };
  return {
    target: () => target,
    set: (wanted) => {
      target = wanted;
    },
    clear: () => {
      target = version;
      report = null;
    },
    report: () => report,
    reached: (state, wanted) => {
      report = { target: wanted, state, error: null };
    },
    refuse,
    refuseWith: (err) => refuse(errorMessage(err)),
    rejected: (offer, reason) => {
      report = { ...failed(reason, offer), rolled_back: true };
    },
    turnedOff: (by) => {
      report = { ...failed(`${by} is 0`), off: true };
      log.warn(
        { version, expected: target },
        `the worker's version differs from the hub's; no update, because ${by} is 0`,
      );
    },
  };
}
