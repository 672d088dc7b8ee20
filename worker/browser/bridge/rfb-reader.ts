import { clientMessageLength, isVersion, RfbError, VERSION_BYTES } from "#shared/protocol/rfb.ts";
import { SECURITY_OK, SECURITY_TYPES } from "./rfb-wire.ts";

export interface RfbReaderDeps {
  write(bytes: Buffer): void;
  /** The viewer is let in: the server's description is due. */
  onInit(): void;
  onMessage(message: Buffer): void;
}

/**
 * Returns the function that takes what a viewer sends: the handshake, then whole messages, however they were cut on
 * their way. It throws what is wrong with them (RfbError).
 */
export function createRfbReader(deps: RfbReaderDeps): (chunk: Buffer) => void {
  let step: "version" | "security" | "init" | "message" = "version";
  let buffer: Buffer = Buffer.alloc(0);

  /** The next part of the handshake, or the next message, once it is complete. */
  const next = (): Buffer | null => {
    let length: ReturnType<typeof clientMessageLength> = step === "version" ? VERSION_BYTES : 1;
    if (step === "message") length = clientMessageLength(buffer);
    if (typeof length !== "number" || buffer.length < length) return null;
    const part = buffer.subarray(0, length);
    buffer = buffer.subarray(length);
    return part;
  };
  const take = (part: Buffer) => {
    switch (step) {
      case "version":
        if (!isVersion(part)) throw new RfbError("only RFB 3.7 and 3.8 are spoken here");
        step = "security";
        return deps.write(SECURITY_TYPES);
      case "security":
        step = "init";
        return deps.write(SECURITY_OK);
      case "init":
        step = "message";
        return deps.onInit();
      default:
        return deps.onMessage(part);
    }
  };
  return (chunk) => {
    buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk]);
    for (let part = next(); part !== null; part = next()) take(part);
  };
}
