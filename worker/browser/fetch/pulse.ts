import type { Clock } from "#shared/kit/clock.ts";
import { STALL_MS } from "../record/activity.ts";
import type { Tracked } from "../record/targets.ts";

/** How often a page is asked for a sign of life while the network is quiet. */
const ASK_EVERY_MS = 250;
/** A page that needed this long to answer was busy: its requests come only now. */
const BUSY_MS = 1_000;
/** Frames of other processes have a main thread each; of hundreds, the first few suffice. */
const MAX_ASKED = 16;
/**
 * How long to wait for a silent target. A thread that waits for a lock never answers, such as an idle WebAssembly
 * worker; a page cannot wait for a lock.
 */
const PATIENCE_MS: Record<string, number | undefined> = {
  page: STALL_MS,
  iframe: STALL_MS,
  worker: 5_000,
};
/** The answer of a target that was given up is still useful. */
const LONGEST_MS = 3_600_000;

/** Whether the job's pages could have made requests: a busy script is not silence (guide: concepts/fleet). */
export interface Pulse {
  /** Resolves when every page has answered after this call or was given up. */
  answered(): Promise<void>;
  /** Pages that were waited for in vain. */
  mute(): Tracked[];
}

export interface PulseDeps {
  clock: Clock;
  targets(): readonly Tracked[];
  /** A page that waits for the answer to a navigation accepts no commands, and its request counts as activity. */
  isNavigating(page: Tracked): boolean;
  /** A page answers again after it was busy, or the worker runs again after it could not. */
  onAwake(): void;
}

/**
 * Asks until `signal` aborts. @param quiet_ms the silence that is awaited: a shorter one is interrupted by shorter
 * busy stretches
 */
export function watchPulse(deps: PulseDeps, quiet_ms: number, signal: AbortSignal): Pulse {
  const { clock } = deps;
  const busy_ms = Math.min(BUSY_MS, quiet_ms / 2);
  /** Questions under way; they resolve when they are answered or given up. */
  const asked = new Map<Tracked, Promise<void>>();
  const mute = new Set<Tracked>();

  const ask = (target: Tracked): Promise<void> => {
    const under_way = asked.get(target);
    if (under_way !== undefined) return under_way;
    const since = clock.monotonic();
    const over = new AbortController();
    const answer = target.session
      .send("Runtime.evaluate", { expression: "0" }, { timeout_ms: LONGEST_MS })
      .catch(() => {})
      .then(() => {
        over.abort();
        mute.delete(target);
        asked.delete(target);
        if (clock.monotonic() - since >= busy_ms && !signal.aborted) deps.onAwake();
      });
    const patience = PATIENCE_MS[target.type] ?? 0;
    const given_up = clock.sleep(patience, AbortSignal.any([over.signal, signal])).then(() => {
      if (!over.signal.aborted && !signal.aborted) mute.add(target);
    });
    const question = Promise.race([answer, given_up]);
    asked.set(target, question);
    return question;
  };
  const askAll = () => {
    const able = deps
      .targets()
      .filter((t) => PATIENCE_MS[t.type] !== undefined && !t.doomed && !deps.isNavigating(t));
    return Promise.all(able.slice(0, MAX_ASKED).map(ask));
  };
  const run = async () => {
    while (!signal.aborted) {
      void askAll();
      const since = clock.monotonic();
      await clock.sleep(ASK_EVERY_MS, signal);
      // A machine that stood still has had nothing to say: that was no silence.
      const overslept = clock.monotonic() - since - ASK_EVERY_MS;
      if (overslept >= busy_ms && !signal.aborted) deps.onAwake();
    }
  };
  void run();
  return {
    answered: async () => void (await askAll()),
    mute: () => [...mute],
  };
}
