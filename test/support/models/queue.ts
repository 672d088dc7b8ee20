/** Values that come in, for a test to wait on instead of sleeping. */
export interface Queue<T> {
  push(value: T): void;
  /** The first value not yet taken that matches, now or when it comes. */
  next(match?: (value: T) => boolean): Promise<T>;
  /** Everything ever pushed, in order. */
  all: T[];
  /** Forgets every value so far. */
  clear(): void;
}

export function createQueue<T>(): Queue<T> {
  const all: T[] = [];
  let untaken: T[] = [];
  let waiting: { match(value: T): boolean; resolve(value: T): void }[] = [];
  return {
    all,
    clear: () => {
      all.length = 0;
      untaken = [];
    },
    push: (value) => {
      all.push(value);
      const taker = waiting.find((w) => w.match(value));
      if (!taker) return void untaken.push(value);
      waiting = waiting.filter((w) => w !== taker);
      taker.resolve(value);
    },
    next: (match = () => true) =>
      new Promise((resolve) => {
        const found = untaken.find(match);
        if (found === undefined) return void waiting.push({ match, resolve });
        untaken = untaken.filter((v) => v !== found);
        resolve(found);
      }),
  };
}
