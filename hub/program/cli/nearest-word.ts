/**
 * How many letters must be inserted, deleted, changed or swapped with their neighbour to turn one word into the other.
 */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (same ? 0 : 1),
        ...(swapped ? [(before[j - 2] ?? 0) + 1] : []),
      );
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

/**
 * The word of `known` that `word` probably meant; null when none is close. `limit`: letters that may be wrong; by
 * default a third of the word, and no more than three.
 */
export function nearestWord(
  word: string,
  known: Iterable<string>,
  limit = Math.min(3, Math.floor(word.length / 3)),
): string | null {
  let found: string | null = null;
  let best = limit + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= best) continue;
    const distance = editDistance(word, candidate);
    if (distance >= best) continue;
    found = candidate;
    best = distance;
  }
  return found;
}
