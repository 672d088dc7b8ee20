import { type Clock, isoTime } from "#shared/kit/clock.ts";
import type { SessionWatcher } from "#shared/protocol/schema/session.ts";

/** Who watches a session or drives it, as the hub that has its viewers sees it (rules/viewer#who-is-watching). */
export interface Watchers {
  join(watcher: Pick<SessionWatcher, "kind" | "name" | "mode">): Watcher;
  list(): SessionWatcher[];
}

export interface Watcher {
  /** It has sent input. */
  acted(): void;
  leave(): void;
}

/** Whoever acted within this time still drives. */
const DRIVES_MS = 10_000;
const MOST_LISTED = 50;

export function createWatchers(clock: Clock): Watchers {
  const here = new Map<object, Omit<SessionWatcher, "drives"> & { acted_at: number }>();
  return {
    join: (watcher) => {
      const key = {};
      const entry = { ...watcher, since: isoTime(clock.now()), acted_at: Number.NEGATIVE_INFINITY };
      here.set(key, entry);
      return {
        acted: () => {
          entry.acted_at = clock.monotonic();
        },
        leave: () => void here.delete(key),
      };
    },
    list: () =>
      [...here.values()].slice(0, MOST_LISTED).map(({ acted_at, ...watcher }) => ({
        ...watcher,
        drives: clock.monotonic() - acted_at < DRIVES_MS,
      })),
  };
}
