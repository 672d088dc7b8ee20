import { randomBytes } from "node:crypto";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { createFrameReader, encodeFrame, type Frame, OPCODE } from "#shared/kit/ws-frames.ts";
import { MAX_CDP_FRAME_BYTES } from "#shared/protocol/limits.ts";
import type { ClusterContext } from "../context.ts";
import { type ByteStream, openStream, placeOf } from "../http/byte-stream.ts";
import { GOING_AWAY } from "../http/going-away.ts";
import type { Socket, SocketHandlers } from "../http/socket-handlers.ts";
import type { HubEntry } from "./hubs.ts";
import { endToEnd } from "./relay-headers.ts";
import { relayMark } from "./relay-mark.ts";

/** The other hub dials its worker's bridge for up to 8 s before it answers. */
const DIAL_MS = 15_000;
const MAX_HEAD_BYTES = 64 * 1024;
const MAX_REFUSAL_BYTES = 256 * 1024;
const HEAD_END = "\r\n\r\n";
/** Frames of the client that wait for a hub that does not read: one of the largest, and what follows it. */
const MAX_WAITING_BYTES = 2 * MAX_CDP_FRAME_BYTES;
/** For the client; pausing at once costs a fast one two system calls for every piece. */
const MAX_UNSENT_BYTES = 1024 * 1024;
/** A hub whose machine went away closes nothing: it is asked this often, and given up after three silences. */
const PING_EVERY_MS = 10_000;
const MAX_SILENT = 3;
/** How long the other hub has to read the client's close. */
const FAREWELL_MS = 1_000;

const CLOSE = { normal: 1000, none: 1005, too_much: 1009, unreachable: 4502 };

/** The handshake was answered with something else than 101. */
class Refused extends Error {
  readonly response: Response;
  constructor(response: Response) {
    super(`refused with ${response.status}`);
    this.response = response;
  }
}

export interface PassedSocket {
  stream: ByteStream;
  /** The subprotocol the other hub agreed to. */
  protocol: string | null;
}

const OWN = ["host", "content-length", "sec-websocket-key", "sec-websocket-version"];

/**
 * Opens the WebSocket at the hub that can answer it; a refusal of its handshake is given back as it is.
 * @throws AppError relay_failed (502)
 */
export async function dialHub(
  ctx: ClusterContext,
  hub: HubEntry,
  path: string,
  headers: Headers,
  within_ms = DIAL_MS,
): Promise<PassedSocket | Response> {
  // The client's Host stays: origins are compared with it. Extensions are this hop's, and it has none.
  const kept = endToEnd(headers, ...OWN, "sec-websocket-extensions", "accept-encoding");
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${headers.get("host") ?? new URL(hub.url).host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
    ...Object.entries(relayMark(ctx)).map(([name, value]) => `${name}: ${value}`),
    ...[...kept].map(([name, value]) => `${name}: ${value}`),
  ];
  let protocol: string | null = null;
  try {
    const stream = await openStream(placeOf(hub.url), {
      hello: lines.join("\r\n") + HEAD_END,
      accept: (bytes) => {
        const end = bytes.indexOf(HEAD_END);
        if (end < 0 && bytes.length > MAX_HEAD_BYTES) throw failed(hub, "its answer has no end");
        if (end < 0) return null;
        const { status, headers: answered } = readHead(bytes.toString("latin1", 0, end));
        const rest = bytes.subarray(end + HEAD_END.length);
        if (status !== 101) return refuse(hub, status, answered, rest);
        protocol = answered.get("sec-websocket-protocol");
        return rest;
      },
      within_ms,
      failed: (why) => failed(hub, why),
    });
    return { stream, protocol };
  } catch (err) {
    if (err instanceof Refused) return err.response;
    ctx.log.warn({ hub: hub.hub_id, err: errorMessage(err) }, "socket not passed on");
    throw err;
  }
}

const failed = (hub: HubEntry, why: string): AppError =>
  new AppError("relay_failed", `hub ${hub.hub_id} cannot be reached`, { cause: why });

function readHead(head: string): { status: number; headers: Headers } {
  const [first = "", ...lines] = head.split("\r\n");
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
  }
  return { status: Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(first)?.[1]), headers };
}

/** Null until the refusal is whole. @throws Refused, or AppError relay_failed for what is none. */
function refuse(hub: HubEntry, status: number, headers: Headers, body: Buffer): null {
  const length = Number(headers.get("content-length") ?? Number.NaN);
  if (!(status >= 300 && status < 600) || !(length <= MAX_REFUSAL_BYTES))
    throw failed(hub, `it said ${status}`);
  if (body.length < length) return null;
  const head = { status, headers: endToEnd(headers, "content-length") };
  throw new Refused(new Response(Uint8Array.from(body.subarray(0, length)), head));
}

/**
 * A client's socket on its way to the hub that has the session: whole messages in both directions, pings and the reason of
 * the end as well (rules/cluster#calls-are-passed-on). `peer` may be the reason why there is no other hub.
 */
export function relayedSocket(
  ctx: ClusterContext,
  hub: HubEntry,
  peer: ByteStream | Error,
): SocketHandlers {
  const over = new AbortController();
  /** What the client did not take any more; the other hub is paused meanwhile. */
  let backlog: Frame[] = [];
  let full = false;
  let silent = 0;

  /** Bun drops what is sent far above its limit, so nothing is sent while the client is behind. */
  const deliver = (socket: Socket, frame: Frame, stream: ByteStream) => {
    const { opcode, payload } = frame;
    // A copy: the chunk it came in is not ours to keep.
    if (full) return void backlog.push({ opcode, payload: Buffer.from(payload) });
    if (opcode === OPCODE.close) return end(socket, payload);
    if (opcode === OPCODE.ping) return void socket.ping(payload);
    if (opcode === OPCODE.pong) return;
    const sent = opcode === OPCODE.text ? socket.send(payload.toString()) : socket.send(payload);
    if (sent >= 0 || socket.getBufferedAmount() <= MAX_UNSENT_BYTES) return;
    full = true;
    stream.pause();
  };
  const end = (socket: Socket, payload: Buffer) => {
    over.abort();
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : CLOSE.normal;
    socket.close(code === CLOSE.none ? CLOSE.normal : code, payload.subarray(2).toString());
  };
  const lost = (socket: Socket) => {
    if (!over.signal.aborted) socket.close(CLOSE.unreachable, `hub ${hub.hub_id} went away`);
  };
  const watch = async (socket: Socket, stream: ByteStream) => {
    while (!over.signal.aborted) {
      await ctx.clock.sleep(PING_EVERY_MS, over.signal);
      if (over.signal.aborted) return;
      if (silent >= MAX_SILENT) return lost(socket);
      // What is paused is not heard either.
      if (full) continue;
      silent += 1;
      stream.write(encodeFrame(OPCODE.ping, new Uint8Array(), true));
    }
  };
  let forget = () => {};

  return {
    max_frame_bytes: MAX_CDP_FRAME_BYTES,
    open: (socket) => {
      if (peer instanceof Error) return socket.close(CLOSE.unreachable, peer.message);
      const goAway = async () => socket.close(GOING_AWAY.code, GOING_AWAY.reason);
      ctx.streams.add(goAway);
      forget = () => ctx.streams.delete(goAway);
      const reader = createFrameReader(MAX_CDP_FRAME_BYTES, (frame) =>
        deliver(socket, frame, peer),
      );
      void watch(socket, peer);
      peer.start({
        data: (chunk) => {
          silent = 0;
          try {
            reader.push(chunk);
          } catch (err) {
            socket.close(CLOSE.too_much, errorMessage(err));
          }
        },
        close: () => lost(socket),
      });
    },
    message: (socket, frame) => {
      if (peer instanceof Error) return;
      const opcode = typeof frame === "string" ? OPCODE.text : OPCODE.binary;
      const payload = typeof frame === "string" ? Buffer.from(frame) : frame;
      // In one write: two would be two packets.
      if (peer.write(encodeFrame(opcode, payload, true)) > MAX_WAITING_BYTES)
        socket.close(CLOSE.too_much, "the other hub does not read");
    },
    drain: (socket) => {
      if (peer instanceof Error) return;
      full = false;
      const waiting = backlog;
      backlog = [];
      for (const frame of waiting) deliver(socket, frame, peer);
      if (!full) peer.resume();
    },
    // The other hub's own ping, answered by the client itself: so that hub still finds a client that has gone.
    pong: () => {
      if (!(peer instanceof Error)) peer.write(encodeFrame(OPCODE.pong, new Uint8Array(), true));
    },
    close: (_socket, code, reason) => {
      forget();
      backlog = [];
      if (peer instanceof Error) return;
      if (!over.signal.aborted) sayGoodbye(ctx, peer, code, reason);
      else peer.close();
      over.abort();
    },
  };
}

/** The client's close travels on; the connection ends when it must have been read. */
function sayGoodbye(ctx: ClusterContext, peer: ByteStream, code: number, reason: string): void {
  const telling = code >= CLOSE.normal && ![1004, CLOSE.none, 1006, 1015].includes(code);
  const payload = telling ? Buffer.concat([Buffer.alloc(2), Buffer.from(reason)]) : Buffer.alloc(0);
  if (telling) payload.writeUInt16BE(code, 0);
  peer.resume();
  peer.write(encodeFrame(OPCODE.close, payload, true));
  void ctx.clock.sleep(FAREWELL_MS).then(() => peer.close());
}
