import { type Clock, withDeadline } from "./clock.ts";
import type { Log } from "./log.ts";

/** How long an answer is used again: several may scrape, and what is read from a store costs it queries. */
const FRESH_MS = 3_000;
/** A scrape waits no longer for what one part has to read. */
const READ_MS = 1_500;

/** The gauge by which a part that could not be read is named. */
export const READING_FAILED = {
  name: "flotilla_metrics_reading_failed",
  help: "1 while a part could not be read for this scrape; its gauges are missing then",
} as const;

interface Reading<G> {
  readonly part: string;
  readonly gauges: readonly G[];
  read(): unknown;
}

export interface ScrapesDeps<G> {
  readonly clock: Clock;
  readonly log: Log;
  /** The gauge {@link READING_FAILED}. */
  readonly failing: { set(labels: { part: string }, value: number): void };
  /** Leaves a gauge without a value. */
  forget(gauge: G): void;
  /** Everything that is told, once all parts were read. */
  tell(): string | Promise<string>;
}

export interface Scrapes<G> {
  /** Sets `gauges` before a scrape. While it fails they have no value, and the part is named as failing. */
  reading(part: string, gauges: readonly G[], read: () => unknown): void;
  /** Everything, in the text format of Prometheus. */
  text(): Promise<string>;
}

/** How a hub and a worker answer those who scrape them, whatever writes their text (rules/metrics#of-every-process). */
export function createScrapes<G>(deps: ScrapesDeps<G>): Scrapes<G> {
  const readings: Reading<G>[] = [];
  let told: { at: number; text: Promise<string> } | null = null;
  const scrape = async (): Promise<string> => {
    await Promise.all(readings.map((one) => readOne(one, deps)));
    return deps.tell();
  };
  return {
    reading: (part, gauges, read) => void readings.push({ part, gauges, read }),
    text: () => {
      const now = deps.clock.monotonic();
      if (told === null || now - told.at >= FRESH_MS) told = { at: now, text: scrape() };
      return told.text;
    },
  };
}

async function readOne<G>(
  { part, gauges, read }: Reading<G>,
  { clock, log, failing, forget }: ScrapesDeps<G>,
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
