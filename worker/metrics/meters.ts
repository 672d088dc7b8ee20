import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Quantiles } from "#shared/kit/process-metrics.ts";
import { createScrapes, READING_FAILED } from "#shared/kit/scrapes.ts";
import { familyText, type Labels, labelText, type Sample, withLabel } from "./series.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** What has no value until it is set again; a summary keeps its sum and its number. */
interface Clearable {
  clear(): void;
}
interface Counter {
  inc(labels?: Labels, n?: number): void;
}
interface Gauge extends Clearable {
  set(value: number): void;
  set(labels: Labels, value: number): void;
}
interface Summary extends Clearable {
  show(seen: Quantiles): void;
}
interface Histogram {
  observe(labels: Labels, value: number): void;
}

/**
 * The metrics of a worker (rules/metrics#of-a-worker), in the way of a hub's. They are written here and not by
 * prom-client, because workers update themselves from their hub's sources, and one that was installed before the package
 * would refuse every version that imports it.
 */
export interface Meters {
  counter(name: string, help: string, labels?: readonly string[]): Counter;
  gauge(name: string, help: string, labels?: readonly string[]): Gauge;
  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labels?: readonly string[],
  ): Histogram;
  /** Of values that are measured elsewhere. */
  summary(name: string, help: string): Summary;
  /** A counter whose number is read at each scrape. */
  tally(name: string, help: string, value: () => number): void;
  /** Sets `gauges` before a scrape. While it fails they have no value, and the part is named as failing. */
  reading(part: string, gauges: readonly Clearable[], read: () => unknown): void;
  /** Everything, in the text format of Prometheus. */
  text(): Promise<string>;
}

interface MetersDeps {
  readonly clock: Clock;
  readonly log: Log;
}

export function createMeters({ clock, log }: MetersDeps): Meters {
  const families: (() => string)[] = [];
  const gauge: Meters["gauge"] = (name, help, labels = []) => {
    const { made, samples } = createGauge(labels);
    families.push(() => familyText(name, "gauge", help, samples()));
    return made;
  };
  const scrapes = createScrapes<Clearable>({
    clock,
    log,
    failing: gauge(READING_FAILED.name, READING_FAILED.help, ["part"]),
    forget: (one) => one.clear(),
    tell: () => families.map((text) => text()).join(""),
  });
  return {
    gauge,
    counter: (name, help, labels = []) => {
      const { made, samples } = createCounter(labels);
      families.push(() => familyText(name, "counter", help, samples()));
      return made;
    },
    histogram: (name, help, buckets, labels = []) => {
      const { made, samples } = createHistogram(buckets, labels);
      families.push(() => familyText(name, "histogram", help, samples()));
      return made;
    },
    summary: (name, help) => {
      const { made, samples } = createSummary();
      families.push(() => familyText(name, "summary", help, samples()));
      return made;
    },
    tally: (name, help, value) =>
      void families.push(() => familyText(name, "counter", help, [["", "", value()]])),
    reading: scrapes.reading,
    text: scrapes.text,
  };
}

const samplesOf = (values: ReadonlyMap<string, number>): Sample[] =>
  [...values].map(([labels, value]) => ["", labels, value]);

function createCounter(names: readonly string[]) {
  const values = new Map<string, number>();
  if (names.length === 0) values.set("", 0);
  const made: Counter = {
    inc: (labels = {}, n = 1) => {
      const key = labelText(names, labels);
      values.set(key, (values.get(key) ?? 0) + n);
    },
  };
  return { made, samples: () => samplesOf(values) };
}

function createGauge(names: readonly string[]) {
  const values = new Map<string, number>();
  const made: Gauge = {
    set: (labels: Labels | number, value?: number) => {
      if (typeof labels === "number") values.set("", labels);
      else values.set(labelText(names, labels), value ?? 0);
    },
    clear: () => values.clear(),
  };
  return { made, samples: () => samplesOf(values) };
}

function createSummary() {
  let seen: Quantiles = { quantiles: [], sum: 0, count: 0 };
  const made: Summary = {
    show: (now) => {
      seen = now;
    },
    clear: () => {
      seen = { quantiles: [], sum: seen.sum, count: seen.count };
    },
  };
  const samples = (): Sample[] => [
    ...seen.quantiles.map(([q, value]): Sample => ["", withLabel("", "quantile", q), value]),
    ["_sum", "", seen.sum],
    ["_count", "", seen.count],
  ];
  return { made, samples };
}

/** What was seen under one set of labels: how many values up to each bound, and all of them. */
interface Seen {
  up_to: number[];
  count: number;
  sum: number;
}

function createHistogram(bounds: readonly number[], names: readonly string[]) {
  const all = new Map<string, Seen>();
  const seenOf = (key: string): Seen => {
    const known = all.get(key);
    if (known) return known;
    const seen = { up_to: bounds.map(() => 0), count: 0, sum: 0 };
    all.set(key, seen);
    return seen;
  };
  if (names.length === 0) seenOf("");
  const made: Histogram = {
    observe: (labels, value) => {
      const seen = seenOf(labelText(names, labels));
      seen.count += 1;
      seen.sum += value;
      for (const [i, bound] of bounds.entries())
        if (value <= bound) seen.up_to[i] = (seen.up_to[i] ?? 0) + 1;
    },
  };
  const samples = (): Sample[] =>
    [...all].flatMap(([labels, { up_to, count, sum }]) => [
      ...up_to.map((n, i): Sample => ["_bucket", withLabel(labels, "le", String(bounds[i])), n]),
      ["_bucket", withLabel(labels, "le", "+Inf"), count],
      ["_sum", labels, sum],
      ["_count", labels, count],
    ]);
  return { made, samples };
}
