import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { createScrapes, READING_FAILED } from "#shared/kit/scrapes.ts";
import { SetSummary } from "./set-summary.ts";

type AnyGauge = Pick<Gauge<string>, "reset" | "remove"> & { readonly labelNames?: unknown };

/** The metrics of one process part (rules/metrics). Each room adds its own; nobody else reads them. */
export interface Metrics {
  counter<L extends string = never>(name: string, help: string, labels?: readonly L[]): Counter<L>;
  gauge<L extends string = never>(name: string, help: string, labels?: readonly L[]): Gauge<L>;
  histogram<L extends string = never>(
    name: string,
    help: string,
    buckets: readonly number[],
    labels?: readonly L[],
  ): Histogram<L>;
  /** Of values that are measured elsewhere. */
  summary(name: string, help: string): SetSummary;
  /** A counter over plain numbers that hot code adds to: nothing happens until somebody scrapes. */
  tally(name: string, help: string, value: () => number): void;
  /** The same with labels. */
  tallyBy(name: string, help: string, labels: readonly string[], values: () => Tallied): void;
  /**
   * Sets `gauges` before a scrape. While it fails they have no value, rather than one that holds no longer, and
   * `flotilla_metrics_reading_failed` names the part.
   */
  reading(part: string, gauges: readonly AnyGauge[], read: () => unknown): void;
  /** Everything in the format that Prometheus reads; at most FRESH_MS old. */
  text(): Promise<string>;
  readonly content_type: string;
}

/** Numbers, each with the values of its labels. */
export type Tallied = Iterable<readonly [labels: Readonly<Record<string, string>>, n: number]>;

/** The numbers of a record as those of one label. */
export const byKey = (label: string, numbers: Readonly<Record<string, number>>): Tallied =>
  Object.entries(numbers).map(([key, n]) => [{ [label]: key }, n]);

interface MetricsDeps {
  readonly clock: Clock;
  readonly log: Log;
}

export function createMetrics({ clock, log }: MetricsDeps): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const { name, help } = READING_FAILED;
  const failing = new Gauge({ name, help, labelNames: ["part"], registers });
  const tell = () => registry.metrics();
  const scrapes = createScrapes<AnyGauge>({ clock, log, failing, forget, tell });
  return {
    counter: (name, help, labelNames = []) => new Counter({ name, help, labelNames, registers }),
    gauge: (name, help, labelNames = []) => new Gauge({ name, help, labelNames, registers }),
    histogram: (name, help, buckets, labelNames = []) =>
      new Histogram({ name, help, buckets: [...buckets], labelNames, registers }),
    summary: (name, help) => new SetSummary(name, help, registers),
    tally: (name, help, value) => {
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(value());
        },
      });
    },
    tallyBy: (name, help, labelNames, values) => {
      new Counter({
        name,
        help,
        labelNames: [...labelNames],
        registers,
        collect() {
          this.reset();
          for (const [labels, n] of values()) this.inc({ ...labels }, n);
        },
      });
    },
    reading: scrapes.reading,
    text: scrapes.text,
    content_type: registry.contentType,
  };
}

/** `reset` sets a gauge without labels to 0, which would be a value. */
function forget(gauge: AnyGauge): void {
  gauge.reset();
  const labels = gauge.labelNames;
  if (!Array.isArray(labels) || labels.length === 0) gauge.remove();
}
