/** What the suite of attacks tries, as lists that its tests work off and the guide's table counts. */

/** Attempts of one kind, by their names. */
export interface AttackList {
  /** What is tried, as a row of the table begins. */
  readonly what: string;
  /** The test file, in `test/attack` where it says nothing else. */
  readonly file: string;
  readonly attempts: readonly string[];
  /** Each attempt is made on every one of these. */
  readonly on?: string;
}

interface Tally {
  readonly list: AttackList;
  readonly refused: Map<string, number>;
}

/** Files of a run may have modules of their own; the table is of all of them. */
const shared = globalThis as {
  flotillaAttempts?: Map<string, Tally>;
  flotillaAttemptsTold?: () => string | null;
};

export interface Attempts {
  /** Notes an attempt whose refusal was just seen. @throws when the list has no such attempt. */
  refused(attempt: string): void;
  /** What was not made, or not refused. */
  left(): string[];
}

/** @throws Error for a list that names an attempt twice */
export function attempting(list: AttackList): Attempts {
  shared.flotillaAttempts ??= new Map();
  shared.flotillaAttemptsTold = tellAttempts;
  const known = new Set(list.attempts);
  if (known.size !== list.attempts.length)
    throw new Error(`an attempt stands twice in: ${list.what}`);
  const refused = shared.flotillaAttempts.get(list.what)?.refused ?? new Map<string, number>();
  shared.flotillaAttempts.set(list.what, { list, refused });
  return {
    refused: (attempt) => {
      if (!known.has(attempt))
        throw new Error(`no attempt on the list of ${list.what}: ${attempt}`);
      refused.set(attempt, (refused.get(attempt) ?? 0) + 1);
    },
    left: () => list.attempts.filter((attempt) => !refused.has(attempt)),
  };
}

/** What this run tried and what was refused of it; null when it tried nothing. */
function tellAttempts(): string | null {
  const tallies = [...(shared.flotillaAttempts?.values() ?? [])];
  if (tallies.length === 0) return null;
  const rows = tallies.map(({ list, refused }) => {
    const made = [...refused.values()].reduce((sum, times) => sum + times, 0);
    const left = list.attempts.filter((attempt) => !refused.has(attempt)).length;
    return { what: list.what, tried: made + left, refused: made };
  });
  const all = rows.reduce(
    (sum, { tried, refused }) => ({ tried: sum.tried + tried, refused: sum.refused + refused }),
    { tried: 0, refused: 0 },
  );
  return [...rows, { what: "together", ...all }]
    .map(
      (row) =>
        `${String(row.tried).padStart(6)} tried ${String(row.refused).padStart(6)} refused  ${row.what}`,
    )
    .join("\n");
}
