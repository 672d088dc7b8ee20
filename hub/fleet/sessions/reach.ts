import { networkInterfaces } from "node:os";

/**
 * The address this hub dials for a worker's viewer URL: `http://host:port`. A worker on the hub's own machine may
 * listen only on loopback, yet it names its LAN address.
 */
export function reachableOrigin(viewer_url: string): string {
  const url = new URL(viewer_url);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const own = Object.values(networkInterfaces())
    .flat()
    .some((a) => a?.address === host);
  if (own) url.hostname = "127.0.0.1";
  return url.origin;
}
