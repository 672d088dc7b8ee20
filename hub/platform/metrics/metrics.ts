import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { SetSummary } from "./set-summary.ts";

/** How long an answer is used again: several may scrape, and what is read from a store costs it queries. */
const FRESH_MS = 3_000;
/** A scrape waits no longer for what one part has to read. */
const READ_MS = 1_500;

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

interface Reading {
  readonly part: string;
  readonly gauges: readonly AnyGauge[];
  read(): unknown;
}

interface MetricsDeps {
  readonly clock: Clock;
  readonly log: Log;
}

export function createMetrics({ clock, log }: MetricsDeps): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const readings: Reading[] = [];
  const failing = new Gauge({
    name: "flotilla_metrics_reading_failed",
    help: "1 while a part could not be read for this scrape; its gauges are missing then",
    labelNames: ["part"],
    registers,
  });
  let told: { at: number; text: Promise<string> } | null = null;

  const scrape = async (): Promise<string> => {
    await Promise.all(readings.map((one) => readOne(one, failing, { clock, log })));
    return registry.metrics();
  };
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
    reading: (part, gauges, read) => void readings.push({ part, gauges, read }),
    text: () => {
      const now = clock.monotonic();
      if (told === null || now - told.at >= FRESH_MS) told = { at: now, text: scrape() };
      return told.text;
    },
    content_type: registry.contentType,
  };
}

async function readOne(
  { part, gauges, read }: Reading,
  failing: Gauge<"part">,
  { clock, log }: MetricsDeps,
): Promise<void> {
  try {
    await withDeadline(`metrics of ${part}`, READ_MS, (async () => read())(), clock);
    failing.set({ part }, 0);
  } catch (err) {
    failing.set({ part }, 1);
    for (const gauge of gauges) forget(gauge);
    log.warn({ part, err }, "some metrics could not be read");
  }
}

/** `reset` sets a gauge without labels to 0, which would be a value. */
function forget(gauge: AnyGauge): void {
  gauge.reset();
  const labels = gauge.labelNames;
  if (!Array.isArray(labels) || labels.length === 0) gauge.remove();
}
