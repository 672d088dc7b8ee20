import {
  CLIENT,
  clientMessageLength,
  isVersion,
  RfbError,
  SECURITY,
  VERSION_BYTES,
} from "#shared/protocol/rfb.ts";
import type { ScreenSize } from "./screen-wishes.ts";

/** What a person did, as far as anybody may know it: that a key went down, and never which. */
export type ViewerInput =
  | { kind: "key" }
  | { kind: "pointer"; buttons: number; x: number; y: number };

/** What a viewer says to a VNC server, message by message, without holding more than a header. */
export interface RfbFilter {
  /**
   * Takes the next bytes, cut anywhere. `forward`: what the server may see of them, in order. `input`: whether a key or
   * pointer message began in them. `screen`: the size that they ask the server for, else null. @throws RfbError
   */
  push(chunk: Uint8Array): {
    forward: Uint8Array[];
    input: boolean;
    screen: ScreenSize | null;
  };
}

/**
 * What a viewer must say to see the screen. Everything else changes what others see or what the page gets, so watchers
 * may not send it.
 */
const LOOKS = new Set<number>([
  CLIENT.set_pixel_format,
  CLIENT.set_encodings,
  CLIENT.update_request,
  CLIENT.continuous_updates,
  CLIENT.fence,
]);
/** A person is there. noVNC sends clipboard and size messages on its own. */
const INPUT = new Set<number>([CLIENT.key, CLIENT.pointer, CLIENT.qemu]);

/** What is being read: the parts of the handshake, then messages. */
type Step = "version" | "security" | "password" | "init" | "message";
const HANDSHAKE: Record<Exclude<Step, "message">, number> = {
  version: VERSION_BYTES,
  security: 1,
  password: 16,
  init: 1,
};
const SHARED = Buffer.from([1]);

/** What the head of a message says; null: nothing that a person did. A key that goes up is no second one. */
function inputOf(head: Buffer): ViewerInput | null {
  switch (head[0]) {
    case CLIENT.key:
      return head[1] ? { kind: "key" } : null;
    case CLIENT.qemu:
      return head.readUInt16BE(2) ? { kind: "key" } : null;
    case CLIENT.pointer: {
      const [x, y] = [head.readUInt16BE(2), head.readUInt16BE(4)];
      return { kind: "pointer", buttons: (head[1] as number) & 0x7f, x, y };
    }
    default:
      return null;
  }
}

/**
 * Follows one viewer from its first byte (rules/viewer#view-only). Pure: no clock, no sockets.
 * @param heard what goes through of a person's input.
 */
export function createRfbFilter(
  view_only: boolean,
  heard: (input: ViewerInput) => void = () => {},
): RfbFilter {
  let step: Step = "version";
  let head: Buffer = Buffer.alloc(0);
  /** Bytes of the current message that are still to come, once its length is known. */
  let left = 0;
  let dropping = false;

  /** Goes on after a part of the handshake; what the server gets of it. */
  const shake = (part: Buffer): Buffer => {
    switch (step) {
      case "version":
        if (!isVersion(part)) throw new RfbError("only RFB 3.7 and 3.8 are spoken here");
        step = "security";
        return part;
      case "security":
        if (part[0] !== SECURITY.none && part[0] !== SECURITY.vnc)
          throw new RfbError(`security type ${part[0]} is not offered`);
        step = part[0] === SECURITY.vnc ? "password" : "init";
        return part;
      case "password":
        step = "init";
        return part;
      default:
        step = "message";
        // An exclusive viewer would throw the others out.
        return SHARED;
    }
  };
  const missing = (): number => {
    if (step !== "message") return HANDSHAKE[step] - head.length;
    const length = clientMessageLength(head);
    return typeof length === "number" ? 0 : length.need - head.length;
  };

  return {
    push: (chunk) => {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const forward: Uint8Array[] = [];
      let input = false;
      let screen: ScreenSize | null = null;
      for (let at = 0; at < bytes.length; ) {
        if (left > 0) {
          const rest = bytes.subarray(at, at + left);
          if (!dropping) forward.push(rest);
          left -= rest.length;
          at += rest.length;
          continue;
        }
        const piece = bytes.subarray(at, at + missing());
        head = Buffer.concat([head, piece]);
        at += piece.length;
        if (missing() > 0) continue;
        if (step === "message") {
          const type = head[0] as number;
          left = (clientMessageLength(head) as number) - head.length;
          dropping = view_only && !LOOKS.has(type);
          input ||= INPUT.has(type);
          if (!dropping) forward.push(head);
          const did = dropping ? null : inputOf(head);
          if (did) heard(did);
          if (type === CLIENT.set_desktop_size && !dropping)
            screen = { width: head.readUInt16BE(2), height: head.readUInt16BE(4) };
        } else forward.push(shake(head));
        head = Buffer.alloc(0);
      }
      return { forward, input, screen };
    },
  };
}
