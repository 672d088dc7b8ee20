import { networkInterfaces } from "node:os";
import { plainAddress } from "#shared/kit/addresses.ts";
import { systemClock } from "#shared/kit/clock.ts";

/** The same for every spelling of an address; empty when it is none. */
export const addressKey = (address: string): string => {
  const plain = plainAddress(address);
  return plain === null ? "" : `${plain.family} ${plain.bits}`;
};

/** Listing them takes 0.1 ms and more with many interfaces, and each connection to a public server asks. */
const FRESH_MS = 1_000;

/** Tells the addresses of this machine's interfaces from others; an address that it gets is known within a second. */
export function createOwnAddresses(
  list: () => Record<string, readonly { address: string }[] | undefined> = networkInterfaces,
  now: () => number = systemClock.monotonic,
): (address: string) => boolean {
  let known = new Set<string>();
  let fresh_until = Number.NEGATIVE_INFINITY;
  return (address) => {
    if (now() >= fresh_until) {
      const all = Object.values(list()).flatMap((addresses) => addresses ?? []);
      known = new Set(all.map((own) => addressKey(own.address)));
      fresh_until = now() + FRESH_MS;
    }
    const key = addressKey(address);
    return key !== "" && known.has(key);
  };
}

export const isOwn = createOwnAddresses();
