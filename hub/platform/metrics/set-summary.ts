import { Gauge, type MetricObjectWithValues, type MetricValue, type Registry } from "prom-client";
import type { Quantiles } from "#shared/kit/process-metrics.ts";

/**
 * A summary whose quantiles are measured elsewhere; prom-client's own measures what it is given. Prometheus wants the
 * label `quantile` in summaries alone.
 */
export class SetSummary extends Gauge<"quantile"> {
  readonly #name: string;
  #sum = 0;
  #count = 0;

  constructor(name: string, help: string, registers: Registry[]) {
    super({ name, help, labelNames: ["quantile"], registers });
    this.#name = name;
  }

  show({ quantiles, sum, count }: Quantiles): void {
    for (const [quantile, value] of quantiles) this.set({ quantile }, value);
    this.#sum = sum;
    this.#count = count;
  }

  override async get(): Promise<MetricObjectWithValues<MetricValue<"quantile">>> {
    const told = await super.get();
    const more = [
      { metricName: `${this.#name}_sum`, labels: {}, value: this.#sum },
      { metricName: `${this.#name}_count`, labels: {}, value: this.#count },
    ];
    // Its types have a number there, its code a word.
    const type = "summary" as unknown as typeof told.type;
    return { ...told, type, values: [...told.values, ...more] };
  }
}
