import { networkInterfaces } from "node:os";
import { METADATA_NAMES, METADATA_V4, METADATA_V6 } from "#shared/metadata-hosts.ts";

/** Metadata services and all of link-local. */
const ALWAYS = [
  ...METADATA_V4,
  ...METADATA_V6.map((address) => `[${address}]`),
  ...METADATA_NAMES,
  "169.254.*",
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
