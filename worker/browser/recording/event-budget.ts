import type { RecordingEvent } from "#shared/recording/events.ts";

/** How much is kept of events (rules/recordings#limits-of-a-recording). */
interface Bounds {
  a_second: number;
  bytes: number;
}
const MIB = 1024 * 1024;
/** A page causes these as often as it likes: each type has room of its own, so that none displaces another. */
const OF_PAGES: Bounds = { a_second: 100, bytes: 8 * MIB };
const CAUSED: ReadonlySet<string> = new Set<RecordingEvent["type"]>([
  "console",
  "error",
  "request_failed",
  "navigation",
  "tab",
  "dialog",
  "download",
]);
/** All others: what the run, its clients and people do. */
const OF_RUN: Bounds = { a_second: 1_000, bytes: 20 * MIB };

interface Budget extends Bounds {
  /** What is counted, as its notes call it. */
  of: string;
  second: number;
  taken: number;
  dropped: number;
  is_full: boolean;
}

export interface EventBudgets {
  /** Whether there is room for an event now. */
  takes(type: RecordingEvent["type"]): boolean;
  /** Whether there is room for its bytes as well. */
  spends(type: RecordingEvent["type"], bytes: number): boolean;
  /** Says what was left out in seconds that are over. */
  tellDropped(): void;
  /** Says everything that was left out and not told yet. */
  end(): void;
}

export function createEventBudgets({
  ms,
  note,
}: {
  ms(): number;
  note(text: string): void;
}): EventBudgets {
  const newBudget = (of: string, bounds: Bounds): Budget =>
    Object.assign({ of, second: 0, taken: 0, dropped: 0, is_full: false }, bounds);
  const of_run = newBudget("", OF_RUN);
  const by_type = new Map(
    [...CAUSED].map((type) => [type, newBudget(` of type ${type}`, OF_PAGES)]),
  );
  const all = [of_run, ...by_type.values()];
  const budgetOf = (type: string): Budget => by_type.get(type) ?? of_run;
  const tell = (budget: Budget) => {
    const { dropped, of, is_full } = budget;
    if (dropped === 0) return;
    budget.dropped = 0;
    const what = dropped === 1 ? `1 event${of} was` : `${dropped} events${of} were`;
    note(`${what} left out: ${is_full ? "beyond the limit" : "too many at once"}`);
  };
  const tellDropped = () => {
    const now = Math.floor(ms() / 1_000);
    for (const budget of all) {
      if (budget.second === now) continue;
      budget.second = now;
      budget.taken = 0;
      // Beyond its limit there would be one such note a second, up to the end.
      if (!budget.is_full) tell(budget);
    }
  };
  return {
    takes: (type) => {
      tellDropped();
      const budget = budgetOf(type);
      const takes = !budget.is_full && budget.taken < budget.a_second;
      if (takes) budget.taken += 1;
      else budget.dropped += 1;
      return takes;
    },
    spends: (type, bytes) => {
      const budget = budgetOf(type);
      budget.bytes -= bytes;
      if (budget.bytes >= 0) return true;
      // What was too many at once until now is told as that.
      tell(budget);
      budget.is_full = true;
      budget.dropped += 1;
      note(`the limit of events${budget.of} is reached: the ones that follow are left out`);
      return false;
    },
    tellDropped,
    end: () => all.forEach(tell),
  };
}
