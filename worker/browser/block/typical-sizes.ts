/**
 * What answers of each kind take on the network on average, as this worker has received them since it started. It is the
 * only measure there is for an answer that nobody requested.
 */
export interface TypicalSizes {
  /** @param type Chromium's kind of the request */
  add(type: string, bytes: number): void;
  /** Bytes; 0 for a kind of which nothing came yet. */
  of(type: string): number;
}

export function createTypicalSizes(): TypicalSizes {
  const received = new Map<string, { answers: number; bytes: number }>();
  return {
    add: (type, bytes) => {
      // What the browser's cache has answered took nothing.
      if (bytes <= 0) return;
      const sum = received.get(type) ?? { answers: 0, bytes: 0 };
      received.set(type, { answers: sum.answers + 1, bytes: sum.bytes + bytes });
    },
    of: (type) => {
      const sum = received.get(type);
      return sum ? sum.bytes / sum.answers : 0;
    },
  };
}
