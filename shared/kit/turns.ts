/** Runs the work for one key in the order of the calls, one at a time; only the caller of a piece sees its failure. */
export function createTurns<K>(): <T>(key: K, work: () => Promise<T>) => Promise<T> {
  const tails = new Map<K, Promise<unknown>>();
  return (key, work) => {
    const mine = (tails.get(key) ?? Promise.resolve()).then(work, work);
    tails.set(key, mine);
    const leave = () => {
      if (tails.get(key) === mine) tails.delete(key);
    };
    mine.then(leave, leave);
    return mine;
  };
}

/**
 * Runs one piece of work at a time, in the order of the calls; at most `most` run or wait.
 * @throws what `full` makes while there are as many; what the work throws
 */
export function createLimitedTurns(
  most: number,
  full: () => Error,
): <T>(work: () => Promise<T>) => Promise<T> {
  const inTurn = createTurns<"all">();
  let taken = 0;
  return async (work) => {
    if (taken >= most) throw full();
    taken += 1;
    try {
      return await inTurn("all", work);
    } finally {
      taken -= 1;
    }
  };
}
