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
/** Limit of the client's frames that wait for a hub that does not read: one of the largest, and what follows it. */
const MAX_WAITING_BYTES = 2 * MAX_CDP_FRAME_BYTES;
/** Limit for the client; pausing at once would cost a fast client two system calls for every piece. */
const MAX_UNSENT_BYTES = 1024 * 1024;
/** A hub whose machine went away closes nothing, so it is pinged this often and given up after three silences. */
const PING_EVERY_MS = 10_000;
const MAX_SILENT = 3;
/** How long the other hub has to read the client's close. */
const FAREWELL_MS = 1_000;

/** What Bun tells of a connection that ended without a close. */
const LOST = 1006;
const CLOSE = { normal: 1000, none: 1005, too_much: 1009, unreachable: 4502 };

/** The handshake was not answered with 101. */
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
  // The client's Host stays, because origins are compared with it. Extensions belong to this hop, which has none.
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
    ctx.log.warn({ hub: hub.hub_id, err: errorMessage(err) }, "could not pass on a socket");
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

/**
 * Null until the refusal is whole.
 * @throws Refused, or AppError relay_failed if it is not a refusal.
 */
function refuse(hub: HubEntry, status: number, headers: Headers, body: Buffer): null {
  const length = Number(headers.get("content-length") ?? Number.NaN);
  if (!(status >= 300 && status < 600) || !(length <= MAX_REFUSAL_BYTES))
    throw failed(hub, `it answered ${status}`);
  if (body.length < length) return null;
  const head = { status, headers: endToEnd(headers, "content-length") };
  throw new Refused(new Response(Uint8Array.from(body.subarray(0, length)), head));
}

/** Frames for the client. Bun drops frames far above its limit, so nothing is sent while the client is behind. */
function createDelivery(ended: () => void) {
  /** What the client could not take; meanwhile the other hub is paused. */
  let backlog: Frame[] = [];
  let full = false;

  const end = (socket: Socket, payload: Buffer) => {
    ended();
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : CLOSE.normal;
    socket.close(code === CLOSE.none ? CLOSE.normal : code, payload.subarray(2).toString());
  };
  const deliver = (socket: Socket, { opcode, payload }: Frame, stream: ByteStream) => {
    // A copy, because its chunk may not be kept.
    if (full) return void backlog.push({ opcode, payload: Buffer.from(payload) });
    if (opcode === OPCODE.close) return end(socket, payload);
    if (opcode === OPCODE.ping) return void socket.ping(payload);
    if (opcode === OPCODE.pong) return;
    const sent = opcode === OPCODE.text ? socket.send(payload.toString()) : socket.send(payload);
    if (sent >= 0 || socket.getBufferedAmount() <= MAX_UNSENT_BYTES) return;
    full = true;
    stream.pause();
  };
  return {
    /** Whether the client is behind and the other hub therefore paused. */
    get full() {
      return full;
    },
    deliver,
    drained: (socket: Socket, stream: ByteStream) => {
      full = false;
      const waiting = backlog;
      backlog = [];
      for (const frame of waiting) deliver(socket, frame, stream);
      if (!full) stream.resume();
    },
    drop: () => {
      backlog = [];
    },
  };
}

/** Pings the other hub until `over` aborts; calls `lost` when nothing comes back. */
function createWatch(clock: ClusterContext["clock"], over: AbortSignal) {
  let silent = 0;
  return {
    heard: () => {
      silent = 0;
    },
    start: async (stream: ByteStream, isPaused: () => boolean, lost: () => void) => {
      while (!over.aborted) {
        await clock.sleep(PING_EVERY_MS, over);
        if (over.aborted) return;
        if (silent >= MAX_SILENT) return lost();
        // A paused connection brings nothing.
        if (isPaused()) continue;
        silent += 1;
        stream.write(encodeFrame(OPCODE.ping, new Uint8Array(), true));
      }
    },
  };
}

/**
 * A client's socket on its way to the hub that has the session: whole messages in both directions, with pings and the
 * reason of the end (rules/cluster#calls-are-passed-on). `peer` may be the reason why there is no other hub.
 */
export function relayedSocket(
  ctx: ClusterContext,
  hub: HubEntry,
  peer: ByteStream | Error,
): SocketHandlers {
  const over = new AbortController();
  const delivery = createDelivery(() => over.abort());
  const watch = createWatch(ctx.clock, over.signal);
  const lost = (socket: Socket) => {
    if (!over.signal.aborted) socket.close(CLOSE.unreachable, `hub ${hub.hub_id} went away`);
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
        delivery.deliver(socket, frame, peer),
      );
      void watch.start(
        peer,
        () => delivery.full,
        () => lost(socket),
      );
      peer.start({
        data: (chunk) => {
          watch.heard();
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
      // In one write, because two would be two packets.
      if (peer.write(encodeFrame(opcode, payload, true)) > MAX_WAITING_BYTES)
        socket.close(CLOSE.too_much, "the other hub does not read");
    },
    drain: (socket) => {
      if (!(peer instanceof Error)) delivery.drained(socket, peer);
    },
    // The client itself answers the other hub's ping, so that hub still notices a client that has gone.
    pong: () => {
      if (!(peer instanceof Error)) peer.write(encodeFrame(OPCODE.pong, new Uint8Array(), true));
    },
    close: (_socket, code, reason) => {
      forget();
      delivery.drop();
      if (peer instanceof Error) return;
      if (!over.signal.aborted) sayGoodbye(ctx, peer, code, reason);
      else peer.close();
      over.abort();
    },
  };
}

/** The client's close is passed on; the connection ends once it must have been read. */
function sayGoodbye(ctx: ClusterContext, peer: ByteStream, code: number, reason: string): void {
  const telling = code >= CLOSE.normal && ![1004, CLOSE.none, LOST, 1015].includes(code);
  const payload = telling ? Buffer.concat([Buffer.alloc(2), Buffer.from(reason)]) : Buffer.alloc(0);
  if (telling) payload.writeUInt16BE(code, 0);
  peer.resume();
  // A connection that was lost is not closed: a session that ends with its client still waits for it.
  if (code !== LOST) peer.write(encodeFrame(OPCODE.close, payload, true));
  void ctx.clock.sleep(FAREWELL_MS).then(() => peer.close());
}
