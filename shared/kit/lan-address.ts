import { networkInterfaces } from "node:os";

/**
 * Bridges for containers and virtual machines: they have the same address on every host, so they cannot identify one.
 */
const VIRTUAL = /^(docker|br-|veth|virbr|cni|flannel|lxc|podman)/;

export type Interfaces = ReturnType<typeof networkInterfaces>;

/** First IPv4 address of a real interface, or 127.0.0.1 on a machine without a network. */
export function firstLanAddress(interfaces: Interfaces = networkInterfaces()): string {
  const found = Object.entries(interfaces).flatMap(([name, addresses]) =>
    (addresses ?? [])
      .filter((a) => a.family === "IPv4" && !a.internal && !a.address.startsWith("169.254."))
      .map((a) => ({ address: a.address, virtual: VIRTUAL.test(name) })),
  );
  return (found.find((a) => !a.virtual) ?? found[0])?.address ?? "127.0.0.1";
}
