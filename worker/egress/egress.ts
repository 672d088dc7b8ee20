import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { EgressMode } from "#shared/protocol/egress.ts";
import { type EgressRule, parseEgressRule } from "#shared/protocol/egress-rules.ts";
import type { FleetPlace } from "#shared/protocol/link/messages.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import { createFleetPlaces, type FleetPlaces } from "./fleet-places.ts";
import { type Gate, openGate } from "./gate.ts";
import { createJudge, type Judge, type Resolve } from "./judge.ts";
import { isMarked } from "./port-marks.ts";
import { createResolver } from "./resolve.ts";
import { socks5 } from "./socks.ts";
import type { Upstream } from "./upstream.ts";
import { upstreamOf } from "./upstream-of.ts";

export interface EgressSettings {
  mode: EgressMode;
  /** Each `TARGET[:PORT[-PORT]]`. */
  allow: readonly string[];
  deny: readonly string[];
  /** Used when job, session and host name none. */
  proxy: ProxyOption | null;
  navigation_block: readonly string[];
  /** CDP, VNC and viewer ports of this worker's lanes. */
  lane_ports: readonly number[];
  /** The addresses that the worker dials: hub and control plane. */
  dialled: readonly FleetPlace[];
}

/** The egress of a worker's lanes: the judge, the resolver and the gates. */
export interface Egress {
  readonly judge: Judge;
  readonly resolve: Resolve;
  /** This worker's own proxy. */
  readonly upstream: Upstream | null;
  /** Other places of the fleet that nobody may open, as reported by the hub. */
  tell: FleetPlaces["tell"];
  /** Opens the gate of a lane's browser; the caller must close it. Null: the lane connects directly. @throws */
  openLaneGate(): Gate | null;
}

/** What counts the ways out of all lanes. */
export interface EgressWatch {
  egressRefused(): void;
  egressReceived(bytes: number): void;
}

export const parseRules = (texts: readonly string[]): EgressRule[] =>
  texts.map(parseEgressRule).filter((rule) => rule !== null);

export function createEgress(
  settings: EgressSettings,
  {
    clock,
    log,
    ask,
    watch,
  }: { clock: Clock; log: Log; ask?: Resolve; watch?: EgressWatch | undefined },
): Egress {
  const resolve = createResolver(clock, ask);
  const fleet = createFleetPlaces(settings.dialled, { resolve, clock, log });
  const own_ports = new Set(settings.lane_ports);
  const judge = createJudge(
    {
      mode: settings.mode,
      allow: parseRules(settings.allow),
      deny: parseRules(settings.deny),
      navigation_block: settings.navigation_block,
      own_ports,
      isNeighbours: isMarked,
      protected: fleet,
    },
    resolve,
  );
  const upstream = settings.proxy && upstreamOf(settings.proxy, { trusted: true });
  return {
    judge,
    resolve,
    upstream,
    tell: fleet.tell,
    openLaneGate: () => {
      const { settled } = fleet;
      const gate = openGate({
        speaks: socks5,
        judge,
        resolve,
        upstream,
        settled,
        onRefused: watch?.egressRefused,
        onReceived: watch?.egressReceived,
      });
      // No lane may reach another lane's gate.
      own_ports.add(gate.port);
      return gate;
    },
  };
}
