import { networkInterfaces } from "node:os";
import { classifyAddress } from "#shared/kit/addresses.ts";
import { placeOfUrl } from "#shared/protocol/egress-rules.ts";
import type { FleetPlace } from "#shared/protocol/link/messages.ts";
import type { ClusterContext } from "../context.ts";

/** Where a URL of the fleet leads. */
export function placeAt(url: string | null, is: FleetPlace["is"]): FleetPlace[] {
  if (url === null || !URL.canParse(url)) return [];
  const { host, port } = placeOfUrl(url);
  return [{ host, from: port, to: port, is }];
}

/** Loopback is a different machine for each worker, and link-local addresses are never reachable. */
const isTold = (address: string): boolean =>
  !["loopback", "link_local", "unspecified"].includes(classifyAddress(address) ?? "");

const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address);

/** Every address under which this process answers: no lane may open them. */
export function placesOf(
  { config, advertise }: Pick<ClusterContext, "config" | "advertise">,
  is: "hub" | "control",
): FleetPlace[] {
  const { public_base_url, host } = config;
  const told = [...placeAt(public_base_url, is), ...placeAt(advertise.url, is)];
  // A router in front of it may have another port.
  const { port } = advertise;
  if (port === null) return told;
  const address = host.replace(/^\[|\]$/g, "");
  const listens_everywhere = /^(0\.0\.0\.0|::|\*?)$/.test(address);
  // Where it listens on loopback alone, workers know by the machine's addresses that this loopback is theirs too.
  const is_loopback = address === "localhost" || classifyAddress(address) === "loopback";
  const addresses = listens_everywhere || is_loopback ? ownAddresses() : [address];
  const here = addresses
    .filter(isTold)
    .map((address): FleetPlace => ({ host: address, from: port, to: port, is }));
  return [...told, ...here];
}
