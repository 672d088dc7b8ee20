import { bothJudges, type Judge } from "./judge.ts";
import type { Upstream } from "./upstream.ts";

/** The rules of a gate: who judges its connections, and what they go through. */
export interface Way {
  judge: Judge;
  upstream: Upstream | null;
}

/** Called for each refused connection: `place` is `host:port`. */
export type OnRefused = (place: string, reason: string) => void;

/** What a run or a session requests from its browser's gate, in addition to the existing rules. */
export interface Narrowing {
  /** A further judge that must allow a connection. */
  judge: Judge;
  onRefused: OnRefused;
  /** Called when the gate broke and was opened again: what was loading is lost. */
  onBroken?: () => void;
  /** The proxy it uses from now on; absent: as before. */
  upstream?: Upstream | null;
}

/** The narrowings of a gate, and the way that remains with all of them. */
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
