import type { BenchOptions, Figure } from "../harness.ts";
import { statsOf } from "../harness.ts";
import { DIALECTS, type Dialect, openStores, SHOWN, type Stores } from "./control.ts";
import { installPeers, type Peer, type PeerJob, runPeer } from "./peers.ts";

export interface PeerLine {
  peer: Peer;
  /** How the table names it. */
  name: string;
  variant?: string;
}

export interface RateBench {
  bench: string;
  metric: string;
  targets: Record<Dialect, string>;
  /** Tasks per second of the control plane on an empty database. */
  ours(stores: Stores, dialect: Dialect): Promise<number>;
  scenario: PeerJob["scenario"];
  tasks: number;
  peers: PeerLine[];
}

/**
 * Every system once in each run, one at a time and each on an empty store, so that what else the machine does falls on all
 * of them. The figures of the peers come with ours divided by theirs.
 */
export async function compareRates(
  { runs, tiny }: BenchOptions,
  bench: RateBench,
): Promise<Figure[]> {
  const stores = await openStores();
  const ours: Record<Dialect, number[]> = { sqlite: [], postgres: [] };
  const theirs = new Map<PeerLine, number[]>(bench.peers.map((line) => [line, []]));
  try {
    if (!tiny) await installPeers();
    for (let run = 0; run < runs; run += 1) {
      for (const dialect of DIALECTS) ours[dialect].push(await bench.ours(stores, dialect));
      if (tiny) continue;
      for (const [line, rates] of theirs) {
        const { scenario, tasks } = bench;
        const job = { scenario, tasks, ...(line.variant ? { variant: line.variant } : {}) };
        rates.push((await runPeer(stores, line.peer, job)).rate ?? Number.NaN);
      }
    }
  } finally {
    await stores.stop();
  }
  const { bench: name, metric, targets } = bench;
  const figures = DIALECTS.map(
    (dialect): Figure => ({
      bench: name,
      metric: `${metric}, ${SHOWN[dialect]}`,
      value: showRate(ours[dialect]),
      target: targets[dialect],
      raw: ours[dialect],
    }),
  );
  if (tiny) return [...figures, leftOut(name)];
  for (const [line, rates] of theirs)
    for (const dialect of DIALECTS)
      figures.push({
        bench: name,
        metric: `${metric}, ${SHOWN[dialect]} ÷ ${line.name}`,
        value: showRate(ours[dialect]),
        reference: showRate(rates),
        ratio: statsOf(ours[dialect]).median / statsOf(rates).median,
        target: "–",
        raw: rates,
      });
  return figures;
}

export const leftOut = (bench: string): Figure => ({
  bench,
  metric: "peers",
  value: "left out: --tiny measures nothing",
  target: "–",
});

const whole = (n: number) => Math.round(n).toLocaleString("en");
export function showRate(rates: number[]): string {
  const { median, min, max, n } = statsOf(rates);
  return `${whole(median)}/s (${whole(min)}–${whole(max)}, n=${n})`;
}
