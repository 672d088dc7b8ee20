import type { TimedEvent } from "#shared/recording/events.ts";
import type { Act, Mark, MarkKind } from "./happenings.ts";

interface At {
  at_ms: number;
}

/** How many of what is ordered by time were there at a moment. */
export function countUpTo(items: readonly At[], ms: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.at_ms ?? 0) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How long the box of what was touched stays after the end of an act. */
const BOX_MS = 1_500;

/** The act that a moment belongs to: one that goes on, or the last that ended a short while ago. */
export function actAt(acts: readonly Act[], ms: number): Act | null {
  const begun = acts.filter(({ from_ms, at_ms }) => from_ms <= ms && ms <= at_ms + BOX_MS);
  return begun.reduce<Act | null>(
    (latest, act) => (latest === null || act.from_ms >= latest.from_ms ? act : latest),
    null,
  );
}

/** Moments that are nearer than this count as the same one. */
const SAME_MS = 1;

/** The act before or behind a moment, by when it began; null where there is none. */
export function stepFrom(acts: readonly Act[], ms: number, by: 1 | -1): Act | null {
  const ahead = acts.filter(({ from_ms }) =>
    by > 0 ? from_ms > ms + SAME_MS : from_ms < ms - SAME_MS,
  );
  return ahead.reduce<Act | null>((nearest, act) => {
    if (nearest === null) return act;
    return by > 0 === act.from_ms < nearest.from_ms ? act : nearest;
  }, null);
}

/** The screen is read at most three times a second: what an act did can be seen this much later. */
const SEEN_MS = 700;

/** Moments that show the page before an act and what it came to, which is before the next one begins. */
export function beforeAndAfter(
  acts: readonly Act[],
  act: Act,
  whole_ms: number,
): { before_ms: number; after_ms: number } {
  const next = stepFrom(acts, act.from_ms, 1);
  const until = Math.max(act.at_ms, next?.from_ms ?? whole_ms);
  return { before_ms: act.from_ms, after_ms: Math.min(act.at_ms + SEEN_MS, until) };
}

/** The page of a moment: where it last went, and the tab that was active, where they are known. */
export function pageAt(
  events: readonly TimedEvent[],
  ms: number,
): { url: string | null; tabs: number } {
  const active = { tab: "", url: new Map<string, string>(), opened: new Set<string>() };
  for (const event of events) {
    if (event.at_ms > ms) break;
    if (event.type === "navigation") active.url.set(event.tab ?? active.tab, event.url);
    if (event.type !== "tab") continue;
    if (event.state === "closed") {
      active.opened.delete(event.tab);
      active.url.delete(event.tab);
      continue;
    }
    active.opened.add(event.tab);
    if (event.url) active.url.set(event.tab, event.url);
    if (event.state === "active") active.tab = event.tab;
  }
  const url = active.url.get(active.tab) ?? [...active.url.values()].at(-1) ?? null;
  return { url, tabs: active.opened.size };
}

/** Marks of one place of the scrubber. */
export interface MarkGroup {
  at_ms: number;
  kind: MarkKind;
  /** Of the first ones, for a person who points at it. */
  text: string;
  count: number;
}

/** Of several, the one that says most. */
const WEIGHT: Record<MarkKind, number> = { error: 3, action: 2, navigation: 1, input: 0 };
const MOST_LINES = 4;

/** Marks that would lie on each other as one: each kind has its own line, so that errors hide nothing. */
export function groupMarks(marks: readonly Mark[], whole_ms: number, places: number): MarkGroup[] {
  const width = Math.max(1, whole_ms) / Math.max(1, places);
  const groups = new Map<string, Mark[]>();
  for (const mark of marks) {
    const key = `${mark.kind} ${Math.floor(mark.at_ms / width)}`;
    const group = groups.get(key);
    if (group) group.push(mark);
    else groups.set(key, [mark]);
  }
  return [...groups.values()]
    .map((group): MarkGroup => {
      const [first] = group as [Mark];
      const texts = group.slice(0, MOST_LINES).map(({ text }) => text);
      const more = group.length > MOST_LINES ? [`and ${group.length - MOST_LINES} more`] : [];
      const text = [...texts, ...more].join("\n");
      return { at_ms: first.at_ms, kind: first.kind, text, count: group.length };
    })
    .sort((a, b) => WEIGHT[a.kind] - WEIGHT[b.kind] || a.at_ms - b.at_ms);
}

/** Moments of a film strip: the middle of each picture's part. */
export const stripMoments = (whole_ms: number, pictures: number): number[] =>
  Array.from({ length: pictures }, (_, i) => Math.round(((i + 0.5) / pictures) * whole_ms));
