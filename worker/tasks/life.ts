/** How far a worker has come: it works, it stops (no further tasks), it is gone (no further calls). */
export interface Life {
  /** From here on the worker takes no tasks. */
  readonly stopping: AbortSignal;
  /** From here on it calls nobody. */
  readonly gone: AbortSignal;
  stop(): void;
  end(): void;
  /** Something that others wait for is different now: a slot is free, a report waits, the worker stops. */
  changed(): void;
  /** Resolves at the next change. */
  nextChange(): Promise<void>;
}

export function createLife(): Life {
  const stopping = new AbortController();
  const gone = new AbortController();
  let next = Promise.withResolvers<void>();
  const changed = () => {
    next.resolve();
    next = Promise.withResolvers();
  };
  return {
    stopping: stopping.signal,
    gone: gone.signal,
    stop: () => {
      stopping.abort();
      changed();
    },
    end: () => {
      gone.abort();
      changed();
    },
    changed,
    nextChange: () => next.promise,
  };
}
