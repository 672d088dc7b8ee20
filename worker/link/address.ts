import { createSocket } from "node:dgram";
import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { withDeadline } from "#shared/kit/clock.ts";
import { firstLanAddress, type Interfaces } from "#shared/kit/lan-address.ts";
import type { HubAddress } from "./hub-url.ts";

const ROUTE_DEADLINE_MS = 3_000;
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
 * This machine's IPv4 address as the hub's network sees it; worker_id is derived from it (rules/workers#worker-id).
 * With a hub on this machine, or one that cannot be looked up yet, it is the first LAN address.
 */
export async function lanAddress(
  hub: HubAddress,
  interfaces: Interfaces = networkInterfaces(),
): Promise<string> {
  const address = await routeAddress(hub).catch(() => null);
  const usable = address !== null && isIPv4(address) && !/^(127|0)\./.test(address);
  return usable ? address : firstLanAddress(interfaces);
}
