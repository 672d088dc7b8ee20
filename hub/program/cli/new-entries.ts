/**
 * What is new at each look at a list that grows. Each look goes back to where the one before it began, because an entry whose
 * number is lower may be committed a moment later than its neighbours.
 * @param readAfter the entries whose number is higher, oldest first
 */
export function newEntries<T>(
  readAfter: (after: number) => Promise<T[]>,
  numberOf: (entry: T) => number,
  after: number,
): () => Promise<T[]> {
  let from = after;
  let newest = after;
  let seen = new Set<number>();
  return async () => {
    const entries = await readAfter(from);
    const fresh = entries.filter((entry) => !seen.has(numberOf(entry)));
    seen = new Set(entries.map(numberOf));
    from = newest;
    newest = fresh.reduce((most, entry) => Math.max(most, numberOf(entry)), newest);
    return fresh;
  };
}
