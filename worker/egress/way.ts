import { bothJudges, type Judge } from "./judge.ts";
import type { Upstream } from "./upstream.ts";

/** Who answers in place of every server: a listener for plain HTTP and one for TLS, each the path of a socket. */
export interface StandIn {
  readonly http: string;
  readonly tls: string;
}

/**
 * The rules of a gate: who judges its connections, and what they go through. With a `stand_in` no connection leaves
 * the machine, no name is resolved, and so nothing is judged.
 */
export interface Way {
  judge: Judge;
  upstream: Upstream | null;
  stand_in: StandIn | null;
}

const refusesNothing = (): null => null;

/** For a gate behind which nothing is connected to. */
const ALLOWS_ALL: Judge = {
  refusal: refusesNothing,
  refusalOfPlace: refusesNothing,
  refusalOfName: refusesNothing,
  refusalOfUrl: refusesNothing,
  checkUrl: async () => null,
};

export const wayToStandIn = (stand_in: StandIn): Way => ({
  judge: ALLOWS_ALL,
  upstream: null,
  stand_in,
});

/** Called for each refused connection: `place` is `host:port`. */
export type OnRefused = (place: string, reason: string) => void;

/** What a run or a session requests from its browser's gate, in addition to the existing rules. */
export interface Narrowing {
  /** A further judge that must allow a connection. */
  judge: Judge;
  onRefused: OnRefused;
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
        stand_in: before.stand_in,
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
  };
}
