import type { Backoff } from "#shared/protocol/schema/workload.ts";

/** Wait in ms before the attempt after `attempt` (1 is the first). `random` in [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random: number): number {
  const { kind, base_s, max_s, jitter } = backoff;
  const factor =
    kind === "fixed" ? 1 : kind === "linear" ? attempt : 2 ** Math.min(attempt - 1, 30);
  const wait = Math.min(max_s, base_s * factor);
  return Math.round(wait * (1 + jitter * (2 * random - 1)) * 1_000);
}
