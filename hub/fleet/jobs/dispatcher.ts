import type { Log } from "#shared/kit/log.ts";

/** Runs assignment passes one at a time, so that no two in this process ever pick the same job or lane. */
export interface Dispatcher {
  /** Asks for a pass soon; however many calls come while one runs, one more pass follows. */
  kick(): void;
  /** Asks again when the last pass failed: the database was away, and nothing else may wake the queue soon. */
  retryFailed(): void;
  /** Runs `pass` alone. */
  exclusive<T>(pass: () => Promise<T>): Promise<T>;
  /** Starts no further pass; resolves when the running one has ended. */
  stop(): Promise<void>;
}

export function createDispatcher(log: Log, pass: () => Promise<unknown>): Dispatcher {
  let tail: Promise<unknown> = Promise.resolve();
  let asked = false;
  let stopped = false;
  let failed = false;
  const exclusive = <T>(work: () => Promise<T>): Promise<T> => {
    const run = tail.then(work);
    tail = run.catch(() => {});
    return run;
  };
  const kick = () => {
    if (asked || stopped) return;
    asked = true;
    exclusive(async () => {
      asked = failed = false;
      if (!stopped) await pass();
    }).catch((err) => {
      failed = true;
      log.error({ err }, "dispatch failed");
    });
  };
  return {
    exclusive,
    kick,
    retryFailed: () => {
      if (failed) kick();
    },
    stop: async () => {
      stopped = true;
      await tail;
    },
  };
}
