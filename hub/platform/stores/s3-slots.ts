/** Buffers for parts of bodies, given out in the order of the requests. */
export interface Slots {
  /** @throws the signal's reason. */
  take(signal: AbortSignal): Promise<Room>;
}

/** A buffer that belongs to its taker until it is given back. */
export interface Room {
  /** Has the size of a part, and still holds its earlier contents. */
  buffer: Uint8Array<ArrayBuffer>;
  /** Gives the buffer back once, however often it is called. */
  free(): void;
}

/** `count` buffers of `bytes`, each allocated when first needed and then reused. */
export function createSlots(count: number, bytes: number): Slots {
  let unmade = count;
  const unused: Uint8Array<ArrayBuffer>[] = [];
  const waiting = new Set<(buffer: Uint8Array<ArrayBuffer>) => void>();
  const give = (buffer: Uint8Array<ArrayBuffer>) => {
    const [next] = waiting;
    if (!next) {
      unused.push(buffer);
      return;
    }
    waiting.delete(next);
    next(buffer);
  };
  const roomOf = (buffer: Uint8Array<ArrayBuffer>): Room => {
    let given = false;
    return {
      buffer,
      free: () => {
        if (!given) give(buffer);
        given = true;
      },
    };
  };
  return {
    take: async (signal) => {
      signal.throwIfAborted();
      const at_hand = unused.pop();
      if (at_hand) return roomOf(at_hand);
      if (unmade > 0) {
        unmade -= 1;
        return roomOf(new Uint8Array(bytes));
      }
      const turn = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
      const abort = () => {
        // A caller that already has its turn gives the buffer back itself.
        if (waiting.delete(turn.resolve)) turn.reject(signal.reason);
      };
      waiting.add(turn.resolve);
      signal.addEventListener("abort", abort, { once: true });
      try {
        return roomOf(await turn.promise);
      } finally {
        signal.removeEventListener("abort", abort);
      }
    },
  };
}
