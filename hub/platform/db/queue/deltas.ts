import type { RateMetric } from "#shared/protocol/schema/flow.ts";
import type { FreedPlaces } from "./queue-store.ts";

export type Counter = "ready" | "claimed" | "failed" | "delayed";
const LAST = 20;
const MASK = 2 ** LAST - 1;

export interface WorkloadDelta {
  workload_id: number;
  counters: Record<Counter, number>;
  /** Runs that ended, oldest in the highest bit. */
  bits: number;
  runs: number;
  /** By `rate_minutes.metric`: those of the API, and what was emitted to which workload (`emitMetric`). */
  metrics: Map<string, number>;
}

/** A transaction's changes of the counters, collected while it runs and written once at its end. */
export class Deltas {
  readonly #of = new Map<number, WorkloadDelta>();

  of(workload_id: number): WorkloadDelta {
    let delta = this.#of.get(workload_id);
    if (!delta) {
      const counters = { ready: 0, claimed: 0, failed: 0, delayed: 0 };
      delta = { workload_id, counters, bits: 0, runs: 0, metrics: new Map() };
      this.#of.set(workload_id, delta);
    }
    return delta;
  }

  move(workload_id: number, from: Counter | null, to: Counter | null, n = 1): void {
    const { counters } = this.of(workload_id);
    if (from) counters[from] -= n;
    if (to) counters[to] += n;
  }

  count(workload_id: number, metric: RateMetric | `emit:${number}`, n = 1): void {
    if (n === 0) return;
    const { metrics } = this.of(workload_id);
    metrics.set(metric, (metrics.get(metric) ?? 0) + n);
  }

  /** A run ended. */
  ran(workload_id: number, success: boolean): void {
    const delta = this.of(workload_id);
    delta.bits = ((delta.bits << 1) | (success ? 1 : 0)) & MASK;
    delta.runs = Math.min(LAST, delta.runs + 1);
  }

  /** Workloads with fewer claimed tasks than before. */
  freed(): FreedPlaces[] {
    const freed: FreedPlaces[] = [];
    for (const { workload_id, counters } of this.#of.values()) {
      const { claimed, ready } = counters;
      if (claimed < 0) freed.push({ workload_id, places: -claimed, ready: Math.max(0, ready) });
    }
    return freed;
  }

  /** In the order of their ids, so two control processes lock rows in one order. */
  all(): WorkloadDelta[] {
    return [...this.#of.values()].sort((a, b) => a.workload_id - b.workload_id);
  }
}
