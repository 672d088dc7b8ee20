import { FlotillaError, type QueueCounts, type WorkloadCalls } from "#shared/client/index.ts";
import type { Clock } from "#shared/clock.ts";
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
/** Where lines cannot be rewritten, one of them says what changed in so long. */
const PLAIN_EVERY_MS = 2_000;
const BAR_COLUMNS = 20;

const counted = (n: number): string => n.toLocaleString("en-US");

/** `██████░░░░  60 %`. */
export function barText(done: number, of: number): string {
  const share = of === 0 ? 1 : Math.min(1, Math.max(0, done / of));
  const full = Math.floor(share * BAR_COLUMNS);
  const percent = `${Math.floor(share * 100)} %`.padStart(5);
  return `${"█".repeat(full)}${"░".repeat(BAR_COLUMNS - full)} ${percent}`;
}

/** `5 pending, 2 claimed, 1 failed`. */
export const countsText = ({ pending, claimed, failed }: QueueCounts): string =>
  `${counted(pending)} pending, ${counted(claimed)} claimed, ${counted(failed)} failed`;

/** How far a queue is that had `most` tasks to do when it had the most, `ms` after that began. */
export function drainText(counts: QueueCounts, most: number, ms: number): string {
  const left = counts.pending + counts.claimed;
  const done = most - left;
  const rate = ms > 0 ? (done * 1_000) / ms : 0;
  const pace = rate >= 0.1 ? `, ${counted(Math.round(rate * 10) / 10)}/s` : "";
  const rest = rate >= 0.1 && left > 0 ? `, ${counted(Math.ceil(left / rate))} s left` : "";
  return `${counted(done)} of ${counted(most)} done, ${countsText(counts)}${pace}${rest}`;
}

/** Counts every half second, until `isOver` says so. A control plane that restarts meanwhile is waited for. */
async function* pollCounts(
  { workloads, clock, signal }: WatchDeps,
  slug: string,
): AsyncGenerator<QueueCounts, void, void> {
  let heard_at = clock.now();
  while (!signal.aborted) {
    try {
      const counts = await workloads.queue(slug, { timeout_ms: CALL_MS, signal });
      heard_at = clock.now();
      yield counts;
    } catch (err) {
      if (signal.aborted) return;
      const away = err instanceof FlotillaError && (err.status === 0 || err.status === 503);
      if (!away || clock.now() - heard_at > PATIENCE_MS) throw err;
    }
    await clock.sleep(POLL_MS, signal);
  }
}

/**
 * Shows a queue's counts while they change.
 * @param onChange told of every change, for `--json`; `isOver` ends the watching.
 * @returns the last counts, or null when Ctrl-C ended it.
 */
export async function watchQueue(
  deps: WatchDeps,
  slug: string,
  progress: Progress | null,
  isOver: (counts: QueueCounts) => boolean,
  onChange: (counts: QueueCounts) => void = () => {},
): Promise<QueueCounts | null> {
  const { terminal, clock } = deps;
  let most = 0;
  let began = clock.now();
  let shown = { text: "", at: Number.NEGATIVE_INFINITY };
  let last = "";
  for await (const counts of pollCounts(deps, slug)) {
    const now = clock.now();
    const left = counts.pending + counts.claimed;
    if (left > most) [most, began] = [left, now];
    const text = drainText(counts, most, now - began);
    const key = countsText(counts);
    if (key !== last) onChange(counts);
    last = key;
    const due = isOver(counts) || now - shown.at >= PLAIN_EVERY_MS;
    if (terminal.live) progress?.step(slug, `${barText(most - left, most)}  ${text}`);
    else if (shown.text !== key && due) {
      progress?.step(slug, text);
      shown = { text: key, at: now };
    }
    if (isOver(counts)) return counts;
  }
  return null;
}
