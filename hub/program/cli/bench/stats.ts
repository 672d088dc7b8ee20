/** What a part of a benchmark took: how often, how long, and what went wrong. */
export interface Measured {
  what: string;
  count: number;
  failed: number;
  /** Null where nothing succeeded. */
  median_ms: number | null;
  p95_ms: number | null;
  /** How many a second, of all that ran at a time; null where they ran one after another. */
  per_s: number | null;
  /** The first failure. */
  error: string | null;
}

/** The value below which the share `q` of `sorted` lies, by the nearest rank. */
export function quantile(sorted: readonly number[], q: number): number | null {
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? null;
}

const rounded = (ms: number | null): number | null =>
  ms === null ? null : Math.round(ms * 10) / 10;

/** Median and 95th percentile of what was measured. */
export function measured(
  what: string,
  times: readonly number[],
  { failed = 0, error = null, per_s = null }: Partial<Measured> = {},
): Measured {
  const sorted = times.toSorted((a, b) => a - b);
  return {
    what,
    count: sorted.length,
    failed,
    median_ms: rounded(quantile(sorted, 0.5)),
    p95_ms: rounded(quantile(sorted, 0.95)),
    per_s: rounded(per_s),
    error,
  };
}

/** How many a second; null where no time has passed. */
export const rate = (count: number, ms: number): number | null =>
  ms > 0 ? (count * 1_000) / ms : null;
