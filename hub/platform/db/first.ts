/** The row of a statement that reads or changes one at most; null when there was none. */
export const first = <T>(rows: T[]): T | null => rows[0] ?? null;
