import { mayDo, type WhoIAm } from "../lib/logins.ts";
import { countText } from "../lib/units.ts";

/** What a call answers that acts on many, or says how many it would be. */
export interface Made {
  matched: number;
  changed: number;
  moved_on: number;
  complete: boolean;
  duplicates?: number;
  refused?: number;
}
export type Action = "retry" | "cancel" | "delete" | "move";
export type Act = (
  action: Action,
  asked: { dry_run: boolean; to?: string; at_most?: number },
) => Promise<Made>;

/** Of each action: its name, what was done, and what follows. */
export const WORDS: Record<Action, { verb: string; done: string; follows: string }> = {
  retry: { verb: "Retry", done: "retried", follows: "They run again, with all their attempts." },
  cancel: {
    verb: "Cancel",
    done: "cancelled",
    follows: "What waits leaves the queue, what runs is stopped.",
  },
  delete: { verb: "Delete", done: "deleted", follows: "They cannot be brought back." },
  move: {
    verb: "Move",
    done: "moved",
    follows: "They wait in the other workload's queue, with all their attempts.",
  },
};

/** Why somebody may not act on failures; null for those who may, and for a caller whom the server has not named yet. */
export function whyNotAct(who: WhoIAm | null): string | null {
  if (who === null || mayDo(who, "operator")) return null;
  return `To retry, cancel, delete or move takes the role operator; yours is ${who.role}.`;
}

export const manyText = (n: number, what: string): string =>
  `${countText(n)} ${what}${n === 1 ? "" : "s"}`;

/** What became of it. */
export function doneText(action: Action, what: string, made: Made): string {
  const parts = [`${manyText(made.changed, what)} ${WORDS[action].done}`];
  if (made.moved_on > 0) parts.push(`${countText(made.moved_on)} had moved on meanwhile`);
  if (made.duplicates) parts.push(`${countText(made.duplicates)} are in the other queue already`);
  if (made.refused) parts.push(`${countText(made.refused)} refused`);
  return parts.join("; ");
}

/** A call ends after a while; the same call goes on, because it finds only what is left. */
export async function untilDone(
  call: (at_most: number | undefined) => Promise<Made>,
  at_most: number | undefined,
): Promise<Made> {
  const sum = await call(at_most);
  for (let last = sum; !last.complete && last.changed > 0; ) {
    last = await call(at_most === undefined ? undefined : at_most - sum.changed);
    sum.changed += last.changed;
    sum.moved_on += last.moved_on;
    sum.complete = last.complete;
  }
  return sum;
}

/** Times of the lists of failures, as they stand in the address. */
export const HOURS = [
  { value: "1", label: "Last hour" },
  { value: "24", label: "Last 24 hours" },
  { value: "168", label: "Last 7 days" },
  { value: "720", label: "Last 30 days" },
];
const USUAL_HOURS = 24;

/**
 * The time that an address names by its hours, on a full minute so that a page asks for the same again. What people write
 * there is no time of the list.
 */
export function sinceOf(hours: string, now: number): string {
  const known = HOURS.some(({ value }) => value === hours);
  const at = now - (known ? Number(hours) : USUAL_HOURS) * 3_600_000;
  return new Date(at - (at % 60_000)).toISOString();
}
