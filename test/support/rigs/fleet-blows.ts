import type { FleetOfHubs } from "./fleet-of-hubs.ts";
import { until } from "./fleet-process.ts";

/**
 * What a bad day does to a fleet. A frozen hub has open sockets and says nothing; one that is cut off runs on, and nothing
 * that it or anybody else sends gets through.
 */
export const BLOWS = ["hub", "redis", "worker", "freeze", "postgres", "cut"] as const;
type Blow = (typeof BLOWS)[number];

export interface BlowsOptions {
  /** In [0, 1); the same numbers make the same blows. */
  random(): number;
  frozen_ms: number;
  /** How long Postgres and Redis are away. */
  outage_ms: number;
  /** How long a hub is cut off, one after the other. */
  cuts_ms: readonly number[];
}

export interface Blows {
  /** Comes back when it is over, but for a cut, which goes on while other blows fall. */
  strike(blow: Blow): Promise<void>;
  struck: Record<Blow, number>;
  /** Resolves when no hub is cut off any more. */
  over(): Promise<void>;
  /** Whether a connection through a hub may break off without a word now: it was killed, or is out of reach. */
  breaks(at: number): boolean;
}

export const shuffled = <T>(from: readonly T[], random: () => number): T[] =>
  from
    .map((value) => ({ value, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);

/** What a killed hub leaves is noticed at once; of a hub that vanished TCP must find out first, at the router. */
const NOTICED_MS = { killed: 5_000, cut: 40_000 };
const ALIVE_MS = 30_000;

export function createBlows(fleet: FleetOfHubs, options: BlowsOptions): Blows {
  const { random, frozen_ms, outage_ms, cuts_ms } = options;
  const struck: Record<Blow, number> = {
    hub: 0,
    redis: 0,
    worker: 0,
    freeze: 0,
    postgres: 0,
    cut: 0,
  };
  const breaking: { since: number; until: number }[] = [];
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  let cutting: Promise<void> = Promise.resolve();

  const cutOff = async (ms: number) => {
    const host = pick(fleet.lan?.hosts.slice(0, fleet.hubs.length) ?? []);
    if (!host) throw new Error("these hubs have no cables");
    host.cut();
    const since = Date.now();
    await Bun.sleep(ms);
    host.mend();
    breaking.push({ since, until: Date.now() + NOTICED_MS.cut });
  };

  const blows: Record<Blow, () => Promise<void>> = {
    hub: async () => {
      const victim = pick(fleet.hubs);
      await until("a living hub", ALIVE_MS, () => victim.alive);
      victim.kill("SIGKILL");
      breaking.push({ since: Date.now(), until: Date.now() + NOTICED_MS.killed });
    },
    worker: async () => {
      const victim = pick(fleet.workers);
      await until("a living worker", ALIVE_MS, () => victim.alive);
      victim.kill("SIGKILL");
    },
    freeze: async () => {
      const victim = pick(fleet.hubs);
      await until("a living hub", ALIVE_MS, () => victim.alive);
      victim.kill("SIGSTOP");
      await Bun.sleep(frozen_ms);
      victim.kill("SIGCONT");
    },
    redis: async () => {
      await fleet.redis.kill();
      await Bun.sleep(outage_ms);
      await fleet.redis.restart();
    },
    postgres: async () => {
      await fleet.postgres.kill();
      await Bun.sleep(outage_ms);
      await fleet.postgres.restart();
    },
    cut: async () => {
      await cutting;
      cutting = cutOff(cuts_ms[(struck.cut - 1) % cuts_ms.length] ?? 0);
    },
  };
  return {
    struck,
    strike: async (blow) => {
      struck[blow] += 1;
      await blows[blow]();
    },
    over: () => cutting,
    breaks: (at) => breaking.some(({ since, until: end }) => at >= since && at <= end),
  };
}
