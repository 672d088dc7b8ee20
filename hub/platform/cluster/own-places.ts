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

/** Every address under which this process answers: no lane may open them. */
export function placesOf(
  { config, advertise }: Pick<ClusterContext, "config" | "advertise">,
  is: "hub" | "control",
): FleetPlace[] {
  const { public_base_url, host } = config;
  const told = [...placeAt(public_base_url, is), ...placeAt(advertise.url, is)];
  const port = placeAt(advertise.url, is)[0]?.from;
  if (port === undefined) return told;
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address);
  const listens_everywhere = /^(0\.0\.0\.0|\[?::\]?|\*?)$/.test(host);
  const addresses = listens_everywhere ? own : [host.replace(/^\[|\]$/g, "")];
  const here = addresses
    .filter(isTold)
    .map((address): FleetPlace => ({ host: address, from: port, to: port, is }));
  return [...told, ...here];
}
