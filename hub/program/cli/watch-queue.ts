import { FlotillaError, type QueueCounts, type WorkloadCalls } from "#shared/client/index.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Terminal } from "./print.ts";
import type { Progress } from "./progress.ts";

export interface WatchDeps {
  workloads: WorkloadCalls;
  terminal: Terminal;
  clock: Clock;
  /** Aborts on the first Ctrl-C. */
  signal: AbortSignal;
}

const POLL_MS = 500;
const CALL_MS = 10_000;
/** How long the control plane may be away before watching gives up. */
const PATIENCE_MS = 30_000;
/** Where lines cannot be rewritten, one line per interval reports what changed. */
const PLAIN_EVERY_MS = 2_000;
/** Width of the bar, on wide terminals and on others. */
const BAR_COLUMNS = { wide: 20, narrow: 10 };
const WIDE = 110;

const counted = (n: number): string => n.toLocaleString("en-US");

/** `██████░░░░  60 %`. */
export function barText(done: number, of: number, columns: number): string {
  const share = of === 0 ? 1 : Math.min(1, Math.max(0, done / of));
  const full = Math.floor(share * columns);
  const percent = `${Math.floor(share * 100)} %`.padStart(5);
  return `${"█".repeat(full)}${"░".repeat(columns - full)} ${percent}`;
}

/** `5 pending, 2 claimed, 1 failed`. */
export const countsText = ({ pending, claimed, failed }: QueueCounts): string =>
  `${counted(pending)} pending, ${counted(claimed)} claimed, ${counted(failed)} failed`;

/** Tasks per second, and the seconds left at that pace when it is known. */
function paceText(done: number, left: number, ms: number): string {
  const rate = ms > 0 ? (done * 1_000) / ms : 0;
  if (rate < 0.1) return "";
  const shown = rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate);
  return `, ${counted(shown)}/s${left > 0 ? `, ${counted(Math.ceil(left / rate))} s left` : ""}`;
}

/** Progress of a queue that held at most `most` tasks, `ms` after the start. */
export function drainText(counts: QueueCounts, most: number, ms: number): string {
  const left = counts.pending + counts.claimed;
  const done = most - left;
  return `${counted(done)} of ${counted(most)} done, ${countsText(counts)}${paceText(done, left, ms)}`;
}

/** The same as one line of a terminal; what matters least comes last, where it may be cut. */
export function drainBar(counts: QueueCounts, most: number, ms: number, width: number): string {
  const left = counts.pending + counts.claimed;
  const done = most - left;
  const bar = barText(done, most, width < WIDE ? BAR_COLUMNS.narrow : BAR_COLUMNS.wide);
  const failed = counts.failed > 0 ? `, ${counted(counts.failed)} failed` : "";
  const pace = paceText(done, left, ms);
  return `${bar}  ${counted(done)}/${counted(most)}${failed}${pace}, ${counted(counts.claimed)} running`;
}

/** Counts every half second, or as seldom as counting takes. Waits for a control plane that restarts meanwhile. */
async function* pollCounts(
  { clock, signal }: WatchDeps,
  count: () => Promise<QueueCounts>,
): AsyncGenerator<QueueCounts, void, void> {
  let heard_at = clock.now();
  while (!signal.aborted) {
    const asked_at = clock.now();
    try {
      const counts = await count();
      heard_at = clock.now();
      yield counts;
    } catch (err) {
      if (signal.aborted) return;
      const away = err instanceof FlotillaError && (err.status === 0 || err.status === 503);
      if (!away || clock.now() - heard_at > PATIENCE_MS) throw err;
    }
    await clock.sleep(Math.max(POLL_MS, clock.now() - asked_at), signal);
  }
}

/** What is watched: the tasks that `count` counts, `most` of them at first; without it the workload's whole queue. */
export interface Watched {
  count: () => Promise<QueueCounts>;
  most: number;
}

const wholeQueue = ({ workloads, signal }: WatchDeps, slug: string): Watched => ({
  count: () => workloads.queue(slug, { timeout_ms: CALL_MS, signal }),
  most: 0,
});

/**
 * Shows a queue's counts while they change.
 * @param onChange called at every change, for `--json`; `isOver` ends the watching.
 * @returns the last counts, or null when Ctrl-C ended it.
 */
export async function watchQueue(
  deps: WatchDeps,
  slug: string,
  progress: Progress | null,
  isOver: (counts: QueueCounts) => boolean,
  onChange: (counts: QueueCounts) => void = () => {},
  watched: Watched = wholeQueue(deps, slug),
): Promise<QueueCounts | null> {
  const { terminal, clock } = deps;
  let { most } = watched;
  let began = clock.now();
  let shown = { text: "", at: Number.NEGATIVE_INFINITY };
  let last = "";
  for await (const counts of pollCounts(deps, watched.count)) {
    const now = clock.now();
    const left = counts.pending + counts.claimed;
    if (left > most) [most, began] = [left, now];
    const key = countsText(counts);
    if (key !== last) onChange(counts);
    last = key;
    const due = isOver(counts) || now - shown.at >= PLAIN_EVERY_MS;
    const ms = now - began;
    if (terminal.live) progress?.step(slug, drainBar(counts, most, ms, terminal.liveWidth));
    else if (shown.text !== key && due) {
      progress?.step(slug, drainText(counts, most, ms));
      shown = { text: key, at: now };
    }
    if (isOver(counts)) return counts;
  }
  return null;
}
