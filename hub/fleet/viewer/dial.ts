import { fetchDirect } from "#hub/platform/cluster/fetch-direct.ts";
import { type ByteStream, openStream, placeOf } from "#hub/platform/http/byte-stream.ts";
import { callWithin } from "#shared/kit/call-within.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { HOST_ID_HEADER, hostId } from "#shared/kit/host-id.ts";
import { createTurns } from "#shared/kit/turns.ts";
import {
  createVncEntrance,
  createVncFront,
  TAKES_VNC_SECRET,
  VNC_SECRET_HEADER,
} from "#shared/protocol/rfb-handshake.ts";

export interface BridgeTarget {
  /** `http://host:port` */
  base: string;
  token: string;
}

/** A bridge on the LAN answers in milliseconds, on a busy machine in seconds; it may wait 15 s itself for the VNC server's greeting. */
const DIAL_MS = 20_000;
const GREETING_MS = 15_000;
const PROBE_MS = 10_000;
const MAX_HEAD_BYTES = 16 * 1024;
const HEAD_END = "\r\n\r\n";

const relayFailed = (why: string) =>
  new AppError("relay_failed", `the worker's viewer bridge did not answer: ${why}`);

/** The bridge names a port of this very machine that has the stream, and what is asked for there. */
class Elsewhere extends Error {
  readonly port: number;
  /** Null for a worker of an earlier version, whose VNC servers require none. */
  readonly secret: string | null;
  constructor(port: number, secret: string | null) {
    super(`on port ${port}`);
    this.port = port;
    this.secret = secret;
  }
}

function acceptUpgrade(bytes: Buffer): Buffer | null {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) {
    if (bytes.length > MAX_HEAD_BYTES) throw relayFailed("its answer does not end");
    return null;
  }
  const head = bytes.toString("latin1", 0, end);
  const status = Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(head)?.[1]);
  const elsewhere = /^Location: rfb:\/\/127\.0\.0\.1:([0-9]{1,5})$/im.exec(head)?.[1];
  if (status === 303 && elsewhere !== undefined) {
    const secret = new RegExp(`^${VNC_SECRET_HEADER}: (\\S+)`, "im").exec(head)?.[1];
    throw new Elsewhere(Number(elsewhere), secret ?? null);
  }
  if (status !== 101) throw relayFailed(`it said ${status}`);
  return bytes.subarray(end + HEAD_END.length);
}

/**
 * Opens `path` of the bridge as a byte stream; `upgrade` names its protocol.
 * @throws AppError relay_failed (502) when it does not answer in time, or answers anything but 101.
 */
export function dialBridge(
  target: BridgeTarget,
  path: string,
  upgrade: string,
  headers: Record<string, string> = {},
): Promise<ByteStream> {
  const place = placeOf(target.base);
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${place.hostname}:${place.port}`,
    "Connection: Upgrade",
    `Upgrade: ${upgrade}`,
    `Authorization: Bearer ${target.token}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const hello = lines.join("\r\n") + HEAD_END;
  return openStream(place, {
    hello,
    accept: acceptUpgrade,
    within_ms: DIAL_MS,
    failed: relayFailed,
  });
}

/** One connection at a time: Xvnc's queue of new ones is short, and what does not fit is tried again seconds later. */
const inTurn = createTurns<number>();
const dialVnc = ({ port, secret }: Elsewhere): Promise<ByteStream> =>
  inTurn(port, async () => {
    const accept = createVncEntrance(secret);
    const entered = await openStream(
      { hostname: "127.0.0.1", port, secure: false },
      { hello: null, accept, within_ms: GREETING_MS, failed: relayFailed },
    );
    return withFront(entered);
  });

/** The stream of a server that was entered, for a viewer that has still to be greeted. */
function withFront(entered: ByteStream): ByteStream {
  const front = createVncFront();
  let tell: (bytes: Uint8Array) => void = () => {};
  return {
    ...entered,
    start: (handlers) => {
      tell = handlers.data;
      tell(front.greeting);
      entered.start(handlers);
    },
    write: (bytes) => {
      const { say, rest } = front.push(bytes);
      for (const answer of say) tell(answer);
      return rest === null ? 0 : entered.write(rest);
    },
  };
}

/**
 * The lane's screen as RFB. The bridge of a worker on this machine names the VNC server itself: without the second hop a
 * raw screen came 1.4 times as fast.
 * @throws AppError relay_failed (502)
 */
export async function dialScreen(target: BridgeTarget, path: string): Promise<ByteStream> {
  const host_id = hostId();
  if (host_id !== null)
    try {
      return await dialBridge(target, path, "rfb", {
        [HOST_ID_HEADER]: host_id,
        [VNC_SECRET_HEADER]: TAKES_VNC_SECRET,
      });
    } catch (err) {
      if (!(err instanceof Elsewhere)) throw err;
      const direct = await dialVnc(err).catch(() => null);
      if (direct) return direct;
    }
  return dialBridge(target, path, "rfb");
}

/** Whether the worker's bridge answers at all. @throws AppError relay_failed (502) */
export async function probeBridge(clock: Clock, { base }: BridgeTarget): Promise<void> {
  try {
    await callWithin(clock, { what: "its answer", ms: PROBE_MS }, async (signal) => {
      const answer = await fetchDirect(`${base}/health`, { signal });
      await answer.arrayBuffer();
    });
  } catch (err) {
    throw relayFailed(errorMessage(err));
  }
}
