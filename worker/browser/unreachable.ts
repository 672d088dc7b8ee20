import { networkInterfaces } from "node:os";

/** Names and addresses of cloud metadata services, and all of link-local (architecture §7). */
const ALWAYS = [
  "169.254.*",
  "100.100.100.200",
  "192.0.0.192",
  "metadata.google.internal",
  "metadata.goog",
  "instance-data",
  "[fd00:ec2::254]",
  "[fd20:ce::254]",
  "[::ffff:a9fe:*]",
  "[fe80:*]",
];
const THIS_MACHINE = [
  "127.*",
  "localhost",
  "*.localhost",
  "0.0.0.0",
  "[::1]",
  "[::]",
  "[::ffff:7f00:*]",
];

/**
 * Patterns for --host-resolver-rules: hosts, and `host:port` of the lanes' own CDP, VNC and viewer ports, that no page may
 * connect to, whatever asks (documents, frames, fetch, WebSocket). Chromium matches what stands in the URL, also when
 * it is an address; a name that resolves to one of them is found out by its response's address.
 */
export function unreachableHosts(own_ports: readonly number[]): string[] {
  const own = Object.values(networkInterfaces())
    .flat()
    .map((a) => (a?.family === "IPv6" ? `[${a.address.replace(/%.*$/, "")}]` : a?.address))
    .filter((a): a is string => a !== undefined);
  const hosts = [...new Set([...THIS_MACHINE, ...own])];
  return [...ALWAYS, ...own_ports.flatMap((port) => hosts.map((host) => `${host}:${port}`))];
}
