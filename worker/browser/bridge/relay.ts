import type { Duplex } from "node:stream";

/** Carries bytes both ways until either side ends; each side is read only as fast as the other accepts data. */
export function relayBytes(one: Duplex, other: Duplex): void {
  const carry = (from: Duplex, to: Duplex) => {
    from.on("data", (chunk: Buffer) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on("drain", () => from.resume());
    from.on("end", () => to.end());
    from.on("close", () => to.destroy());
    from.on("error", () => to.destroy());
    from.resume();
  };
  carry(one, other);
  carry(other, one);
}
