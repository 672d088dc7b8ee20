/** Rooms for parts of bodies in memory, given out in the order they are asked for. */
export interface Slots {
  /** Resolves to the function that gives the room back. @throws the signal's reason. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createSlots(count: number): Slots {
  let free = count;
  const waiting = new Set<() => void>();
  const give = () => {
    const [next] = waiting;
    if (!next) {
      free += 1;
      return;
    }
    waiting.delete(next);
    next();
  };
  const once = () => {
    let given = false;
    return () => {
      if (!given) give();
      given = true;
    };
  };
  return {
    take: async (signal) => {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return once();
      }
      const turn = Promise.withResolvers<void>();
      const abort = () => {
        // Whoever has its turn already gives it back itself.
        if (waiting.delete(turn.resolve)) turn.reject(signal.reason);
      };
      waiting.add(turn.resolve);
      signal.addEventListener("abort", abort, { once: true });
      try {
        await turn.promise;
      } finally {
        signal.removeEventListener("abort", abort);
      }
      return once();
    },
  };
}
