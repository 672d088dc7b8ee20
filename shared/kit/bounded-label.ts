/** What stands for every value beyond the most that a label may have. */
const OTHER = "other";

/** Workloads that have series of their own, at a hub and at a worker; what the others have is added up as `other`. */
export const MOST_WORKLOADS = 100;

/**
 * Names that users choose are values of labels only up to a number, because each makes series of its own in Prometheus.
 * The first `most` keep theirs for as long as the process runs, so that no counter jumps; all others are `other`.
 */
export function createBoundedLabel(most: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= most) return OTHER;
    known.add(value);
    return value;
  };
}
