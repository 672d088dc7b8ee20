import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Scope } from "./scope.ts";

export interface LoopOptions {
  name: string;
  everyMs: number;
  clock: Clock;
  log: Log;
  /** One pass. A rejection is logged and the loop goes on. */
  pass: (signal: AbortSignal) => Promise<void>;
}

export interface Loop {
  /** Aborts the sleep and the running pass, and waits for the pass to end. Safe to call twice. */
  stop(): Promise<void>;
}

/** Runs `pass`, then sleeps `everyMs`, forever; passes never overlap. This is the only timer loop in the code. */
export function startLoop(options: LoopOptions): Loop {
  const abort = new AbortController();
  const done = (async () => {
    while (!abort.signal.aborted) {
      try {
        await options.pass(abort.signal);
      } catch (err) {
        if (!abort.signal.aborted)
          options.log.error({ loop: options.name, err }, "loop pass failed");
      }
      if (!abort.signal.aborted) await options.clock.sleep(options.everyMs, abort.signal);
    }
  })();
  return {
    stop: async () => {
      abort.abort();
      await done;
    },
  };
}

/** Starts a loop that ends with `scope`, under its own name. */
export function addLoop(scope: Scope, options: LoopOptions): void {
  scope.add(options.name, startLoop(options), (loop) => loop.stop());
}
