import { classifyAddress } from "#shared/kit/addresses.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { bareHost, knownAddresses } from "#shared/protocol/egress-rules.ts";
import type { FleetPlace } from "#shared/protocol/link/messages.ts";
import type { ProtectedPlaces, Resolve } from "./judge.ts";
import { addressKey, isOwn } from "./own-addresses.ts";

/** Hubs, control planes and bridges, which no lane may open under any name. */
export interface FleetPlaces extends ProtectedPlaces {
  /** Sets what the hub reports now, in place of what it reported before. */
  tell(places: readonly FleetPlace[]): void;
  /** Resolves once every name was looked up. */
  settled(): Promise<void>;
}

interface Known extends FleetPlace {
  /** Numeric addresses; for a name, those it resolved to last. */
  addresses: Set<string>;
  /** It is on this machine, and answers at each of its addresses. */
  local: boolean;
}

const WHAT: Record<FleetPlace["is"], string> = {
  hub: "is a hub of this fleet",
  control: "is the control plane of this fleet",
  bridge: "is a viewer bridge of this fleet",
};
/** Names are looked up again after this time. */
const FRESH_MS = 60_000;

/** @param own places that the worker itself knows: those it dials. */
export function createFleetPlaces(
  own: readonly FleetPlace[],
  { resolve, clock, log }: { resolve: Resolve; clock: Clock; log: Log },
): FleetPlaces {
  let known: Known[] = [];
  let fresh_until = 0;
  let looking: Promise<void> = Promise.resolve();

  const learn = (place: Known, addresses: readonly string[]) => {
    place.addresses = new Set(addresses.map(addressKey));
    place.local = addresses.some((a) => classifyAddress(a) === "loopback" || isOwn(a));
  };
  const lookUp = async (place: Known) => {
    const literal = knownAddresses(place.host);
    try {
      learn(place, literal.length > 0 ? literal : await resolve(place.host));
    } catch (err) {
      // Its previous addresses are still refused, and so is its name.
      log.debug({ host: place.host, err }, "an address of the fleet does not resolve");
    }
  };
  const look = () => {
    fresh_until = clock.monotonic() + FRESH_MS;
    looking = Promise.all(known.map(lookUp)).then(() => {});
  };
  const put = (places: readonly FleetPlace[]) => {
    const before = new Map(known.map((place) => [place.host, place]));
    known = [...own, ...places].map((place) => {
      const { addresses = new Set<string>(), local = false } = before.get(place.host) ?? {};
      return { ...place, host: bareHost(place.host), addresses, local };
    });
    look();
  };
  const isAt = (place: Known, port: number) => port >= place.from && port <= place.to;
  put([]);
  return {
    tell: put,
    settled: () => {
      if (clock.monotonic() < fresh_until) return looking;
      look();
      // Known addresses still count while names are looked up again.
      return Promise.resolve();
    },
    at: (address, port) => {
      const key = addressKey(address);
      const found = known.find(
        (place) =>
          isAt(place, port) &&
          (place.addresses.has(key) ||
            (place.local && (classifyAddress(address) === "loopback" || isOwn(address)))),
      );
      return found ? WHAT[found.is] : null;
    },
    named: (host, port) => {
      const found = known.find((place) => place.host === host && isAt(place, port));
      return found ? WHAT[found.is] : null;
    },
  };
}
