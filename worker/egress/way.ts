import { bothJudges, type Judge } from "./judge.ts";
import type { Upstream } from "./upstream.ts";

/** What a gate goes by: who judges its connections, and what they go through. */
export interface Way {
  judge: Judge;
  upstream: Upstream | null;
}

/** Told of a connection that was refused: `place` is `host:port`. */
export type OnRefused = (place: string, reason: string) => void;

/** What a run or a session asks of its browser's gate, on top of what there is. */
export interface Narrowing {
  /** What also has to allow a connection. */
  judge: Judge;
  onRefused: OnRefused;
  /** Told when the gate broke and was opened again: what was being loaded is lost. */
  onBroken?: () => void;
  /** What it goes out through from now on; absent: as before. */
  upstream?: Upstream | null;
}

/** Who narrows a gate now, and the way that is left by all of them. */
export interface Narrowings {
  readonly way: Way;
  add(by: Narrowing): void;
  remove(by: Narrowing): void;
  clear(): void;
  refused: OnRefused;
  broken(): void;
}

export function createNarrowings(base: Way): Narrowings {
  let all: readonly Narrowing[] = [];
  let way = base;
  const follow = (now: readonly Narrowing[]) => {
    all = now;
    way = now.reduce(
      (before, by) => ({
        judge: by.judge === before.judge ? by.judge : bothJudges(before.judge, by.judge),
        upstream: by.upstream === undefined ? before.upstream : by.upstream,
      }),
      base,
    );
  };
  return {
    get way() {
      return way;
    },
    add: (by) => follow([...all, by]),
    remove: (by) => follow(all.filter((one) => one !== by)),
    clear: () => follow([]),
    refused: (place, reason) => {
      for (const by of all) by.onRefused(place, reason);
    },
    broken: () => {
      for (const by of all) by.onBroken?.();
    },
  };
}
