/** Rooms for parts of bodies in memory, given out in the order they are asked for. */
export interface Slots {
  /** @throws the signal's reason. */
  take(signal: AbortSignal): Promise<Room>;
}

/** A room that is one's own until it is given back. */
export interface Room {
  /** Of the size of a part, with what was in it before. */
  buffer: Uint8Array<ArrayBuffer>;
  /** Gives the room back, once however often it is called. */
  free(): void;
}

/** `count` rooms of `bytes`, each made when it is first needed and then used again and again. */
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
        // Whoever has its turn already gives it back itself.
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
