import type { Metrics, Tallied } from "#hub/platform/metrics/metrics.ts";

/** Others are whatever a caller made up. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** How calls were answered. It hears of thousands of calls a second, and adds to one number for each. */
export interface CallCounts {
  answered(method: string, status: number): void;
}

export function createCallCounts(metrics: Pick<Metrics, "tallyBy">): CallCounts {
  const counts = new Map<string, Map<number, number>>();
  function* all(): Tallied & Generator {
    for (const [method, by_code] of counts)
      for (const [code, n] of by_code) yield [{ method, code: String(code) }, n];
  }
  metrics.tallyBy(
    "flotilla_http_requests_total",
    "Answered calls, by method and status",
    ["method", "code"],
    all,
  );
  return {
    answered: (method, status) => {
      const name = METHODS.has(method) ? method : "other";
      const by_code = counts.get(name) ?? new Map<number, number>();
      if (by_code.size === 0) counts.set(name, by_code);
      by_code.set(status, (by_code.get(status) ?? 0) + 1);
    },
  };
}
