import { isVersion, RfbError, SECURITY, VERSION_BYTES } from "./rfb.ts";
import { answerTo, CHALLENGE_BYTES } from "./vnc-auth.ts";

/**
 * The handshake of a VNC connection, split in two: the relay logs in to the server with the server's secret, and
 * presents itself to the viewer as a server that asks for none. After the viewer's first choice, bytes pass through
 * unchanged.
 */

const VERSION = Buffer.from("RFB 003.008\n", "latin1");
const OLDER_VERSION = "RFB 003.007\n";
const ACCEPTED = Buffer.alloc(4);
const RESULT_BYTES = 4;

/**
 * Header by which a hub says that it answers the VNC server's challenge itself, and by which the bridge gives it the
 * secret.
 */
export const VNC_SECRET_HEADER = "flotilla-vnc-secret";
export const TAKES_VNC_SECRET = "taken";

type Say = (bytes: Uint8Array) => void;

/** Chooses one of the security types that a server offers. @throws RfbError */
function chosenOf(types: Buffer, secret: string | null): number {
  const wanted = secret === null ? SECURITY.none : SECURITY.vnc;
  if (types.includes(wanted)) return wanted;
  throw new RfbError(
    secret === null ? "the VNC server requires a password" : "the VNC server asks for no password",
  );
}

/**
 * The client's side, up to where it says whether it shares the screen. The function gets everything that the server
 * has sent so far, and returns what follows the handshake; null while that is incomplete.
 * @param secret null for a server that asks for none. @throws RfbError
 */
export function createVncEntrance(secret: string | null): (all: Buffer, say: Say) => Buffer | null {
  let step: "version" | "types" | "challenge" | "result" = "version";
  let at = 0;
  return (all, say) => {
    for (;;) {
      const left = all.subarray(at);
      if (step === "version") {
        if (left.length < VERSION_BYTES) return null;
        if (!isVersion(left.subarray(0, VERSION_BYTES))) throw new RfbError("not a VNC server");
        say(VERSION);
        at += VERSION_BYTES;
        step = "types";
      } else if (step === "types") {
        const [count] = left;
        if (count === undefined || left.length < 1 + count) return null;
        const chosen = chosenOf(left.subarray(1, 1 + count), secret);
        say(Buffer.from([chosen]));
        at += 1 + count;
        step = chosen === SECURITY.vnc ? "challenge" : "result";
      } else if (step === "challenge") {
        if (left.length < CHALLENGE_BYTES) return null;
        say(answerTo(left.subarray(0, CHALLENGE_BYTES), secret ?? ""));
        at += CHALLENGE_BYTES;
        step = "result";
      } else {
        if (left.length < RESULT_BYTES) return null;
        if (left.readUInt32BE(0) !== 0) throw new RfbError("the VNC server refused");
        return left.subarray(RESULT_BYTES);
      }
    }
  };
}

/** The server's side, towards a viewer, once the real server has accepted the login. */
export interface VncFront {
  /** The first message. */
  readonly greeting: Uint8Array;
  /**
   * Takes the viewer's bytes, cut anywhere. `say`: the answer to it. `rest`: bytes for the server; null while the
   * handshake is not over. @throws RfbError
   */
  push(chunk: Uint8Array): { say: Uint8Array[]; rest: Uint8Array | null };
}

export function createVncFront(): VncFront {
  let step: "version" | "security" | "over" = "version";
  let older = false;
  let head: Buffer = Buffer.alloc(0);
  return {
    greeting: VERSION,
    push: (chunk) => {
      if (step === "over") return { say: [], rest: chunk };
      const say: Uint8Array[] = [];
      head = Buffer.concat([head, chunk]);
      if (step === "version" && head.length >= VERSION_BYTES) {
        const version = head.subarray(0, VERSION_BYTES);
        if (!isVersion(version)) throw new RfbError("only RFB 3.7 and 3.8 are supported");
        older = version.toString("latin1") === OLDER_VERSION;
        say.push(Buffer.from([1, SECURITY.none]));
        head = head.subarray(VERSION_BYTES);
        step = "security";
      }
      if (step !== "security" || head.length === 0) return { say, rest: null };
      if (head[0] !== SECURITY.none) throw new RfbError(`security type ${head[0]} is not offered`);
      // The older version has no answer to a choice of none.
      if (!older) say.push(ACCEPTED);
      step = "over";
      return { say, rest: head.subarray(1) };
    },
  };
}
