import { cpus, totalmem } from "node:os";
import { humanSize } from "#shared/kit/words.ts";

/** Shared parts of the benchmarks: figures are printed, never asserted. */

export interface Stats {
  median: number;
  min: number;
  max: number;
  p95: number;
  n: number;
}

export function statsOf(values: number[]): Stats {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (q: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
  return {
    median: at(0.5),
    min: sorted[0] ?? NaN,
    max: sorted.at(-1) ?? NaN,
    p95: at(0.95),
    n: sorted.length,
  };
}

/** One line of a benchmark's answer; `target` and `reference` are words for the reader. */
export interface Figure {
  bench: string;
  metric: string;
  value: string;
  reference?: string;
  ratio?: number;
  target: string;
  raw?: unknown;
}

export interface BenchOptions {
  /** Measured runs; 5 at least for a figure that is kept, 1 in the suite. */
  runs: number;
  /** One small iteration that only proves that the benchmark still works. */
  tiny: boolean;
  /** How long `soak` watches, and its jobs a minute. */
  minutes?: number;
  rate?: number;
}

export type Bench = (options: BenchOptions) => Promise<Figure[]>;

const round = (ms: number) => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0));
export const showMs = (s: Stats): string =>
  `${round(s.median)} ms (${round(s.min)}–${round(s.max)}, n=${s.n})`;

export async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const start = performance.now();
  const result = await work();
  return { ms: performance.now() - start, result };
}

function machine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown CPU";
  return `${cpus().length} cores (${model}), ${humanSize(totalmem())} RAM, Bun ${Bun.version}`;
}

export function printTable(figures: Figure[]): void {
  const rows = figures.map((f) => [
    f.bench,
    f.metric,
    f.value,
    f.reference ?? "–",
    f.ratio === undefined ? "–" : f.ratio.toFixed(2),
    f.target,
  ]);
  const head = ["benchmark", "metric", "value", "reference", "ratio", "target"];
  console.log(`\n| ${head.join(" | ")} |\n|${head.map(() => "---").join("|")}|`);
  for (const row of rows) console.log(`| ${row.join(" | ")} |`);
  console.log(`\n${machine()}`);
}
