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
