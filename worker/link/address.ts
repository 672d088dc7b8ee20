import { createSocket } from "node:dgram";
import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { withDeadline } from "#shared/clock.ts";
import type { HubAddress } from "./hub-url.ts";

const ROUTE_DEADLINE_MS = 3_000;
/** Bridges of container and machine hosts: the same address on every host, so useless as an identity. */
const VIRTUAL = /^(docker|br-|veth|virbr|cni|flannel|lxc|podman)/;

type Interfaces = ReturnType<typeof networkInterfaces>;

/** First IPv4 address of a real interface, or 127.0.0.1 on a machine without a network. */
export function firstLanAddress(interfaces: Interfaces = networkInterfaces()): string {
  const found = Object.entries(interfaces).flatMap(([name, addresses]) =>
    (addresses ?? [])
      .filter((a) => a.family === "IPv4" && !a.internal && !a.address.startsWith("169.254."))
      .map((a) => ({ address: a.address, virtual: VIRTUAL.test(name) })),
  );
  return (found.find((a) => !a.virtual) ?? found[0])?.address ?? "127.0.0.1";
}

/** The local address of the route to the hub: connecting a UDP socket picks one and sends nothing. */
async function routeAddress(hub: HubAddress): Promise<string> {
  const socket = createSocket("udp4");
  try {
    const connected = new Promise<string>((resolve, reject) => {
      socket.once("error", reject);
      socket.connect(hub.port, hub.host, () => {
        try {
          resolve(socket.address().address);
        } catch (err) {
          reject(err);
        }
      });
    });
    return await withDeadline("looking up the route to the hub", ROUTE_DEADLINE_MS, connected);
  } finally {
    socket.close();
  }
}

/**
 * This machine's IPv4 address as the hub's network sees it; worker_id is derived from it (fleet spec §2.5).
 * A hub on this machine, or one that cannot be looked up yet, gives the first LAN address.
 */
export async function lanAddress(
  hub: HubAddress,
  interfaces: Interfaces = networkInterfaces(),
): Promise<string> {
  const address = await routeAddress(hub).catch(() => null);
  const usable = address !== null && isIPv4(address) && !/^(127|0)\./.test(address);
  return usable ? address : firstLanAddress(interfaces);
}
