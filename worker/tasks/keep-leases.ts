import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import type { Ref } from "./client.ts";
import type { Flight } from "./flight.ts";

const FENCE_EVERY_MS = 250;

export interface KeepLeasesDeps {
  clock: Clock;
  log: Log;
  random: () => number;
  flight: Flight;
  /** Ms between two heartbeats of an idle worker. */
  idleMs: () => number;
  /** Tasks whose results wait to be reported: no other worker may run them again. */
  untold: () => (Ref & { workload: string })[];
  /** Sends one heartbeat; returns what is lost. */
  beat(refs: (Ref & { workload: string })[]): Promise<Ref[]>;
}

/**
 * Renews the leases of everything in flight, three times within the shortest; stops what could not be renewed before
 * another worker may take it.
 */
export function keepLeases(deps: KeepLeasesDeps) {
  const { clock, log, flight } = deps;
  let beaten_at = performance.now();
  let sooner = new AbortController();

  /** Ms until the next heartbeat, scaled by `share` so that workers do not fall into step. */
  const left = (share: number): number => {
    const every = Math.min(deps.idleMs(), flight.shortestLease() / 3);
    return beaten_at + every * share - performance.now();
  };
  const beat = async (): Promise<void> => {
    beaten_at = performance.now();
    const asked_at = beaten_at;
    const refs = [...flight.list(), ...deps.untold()];
    flight.lose(await deps.beat(refs), "the lease is gone");
    flight.renewed(refs, asked_at);
  };
  const fence = async (): Promise<void> => {
    const overdue = flight.overdue();
    if (overdue.length === 0) return;
    log.error({ n: overdue.length }, "could not renew leases: their tasks are stopped");
    flight.lose(overdue, "the lease could not be renewed");
  };

  const loops = [
    startLoop({ name: "lease fence", everyMs: FENCE_EVERY_MS, clock, log, pass: fence }),
    startLoop({
      name: "heartbeat",
      everyMs: 0,
      clock,
      log,
      pass: async (signal) => {
        const share = 0.8 + deps.random() * 0.2;
        for (let ms = left(share); ms > 0 && !signal.aborted; ms = left(share)) {
          sooner = new AbortController();
          await clock.sleep(ms, AbortSignal.any([signal, sooner.signal]));
        }
        if (!signal.aborted) await beat();
      },
    }),
  ];
  return {
    /** Tasks begin: the next heartbeat may come too late for a short lease. */
    begun: (lease_ms: number): void => {
      if (lease_ms / 3 < deps.idleMs()) sooner.abort();
    },
    /** There is something to report that must not wait. */
    beatNow: (): void => {
      beaten_at = Number.NEGATIVE_INFINITY;
      sooner.abort();
    },
    /** `idleMs` has changed. */
    paced: (): void => sooner.abort(),
    stop: async (): Promise<void> => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
