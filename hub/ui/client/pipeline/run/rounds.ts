/** Attempts by round: a task that was retried has all its attempts again, and its numbers begin anew. */
export function roundsOf<T extends { attempt: number }>(attempts: readonly T[]): T[][] {
  const rounds: T[][] = [];
  let before = Number.POSITIVE_INFINITY;
  for (const one of attempts) {
    if (one.attempt <= before) rounds.push([]);
    rounds.at(-1)?.push(one);
    before = one.attempt;
  }
  return rounds;
}
