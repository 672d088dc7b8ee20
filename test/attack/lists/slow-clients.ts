import type { AttackList } from "#test/support/rigs/attempts.ts";

/** A client that keeps its connection for as long as it is let. */
export interface SlowClient {
  readonly first: string;
  /** Sent again and again, a few times a second. */
  readonly again?: string;
  /** It never reads what it is answered. */
  readonly deaf?: boolean;
}

const HOST = "Host: localhost\r\n";
const POST = `POST /jobs HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`;
const PUT = `PUT /workers/w11/jobs/x/assets/y HTTP/1.1\r\n${HOST}Authorization: Bearer x\r\n`;
const UPGRADE =
  `${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

export const SLOW_CLIENTS: Record<string, SlowClient> = {
  "it says nothing": { first: "" },
  "it stops in the first line": { first: "GET /hea" },
  "it stops in its headers": { first: `GET /health HTTP/1.1\r\n${HOST}X-A: ` },
  "it sends a header now and then": {
    first: `GET /health HTTP/1.1\r\n${HOST}`,
    again: "X-A: b\r\n",
  },
  "it sends a letter of a header now and then": {
    first: `GET /health HTTP/1.1\r\n${HOST}X-A: `,
    again: "a",
  },
  "it announces a body and sends none": { first: `${POST}Content-Length: 1000\r\n\r\n` },
  "it sends a letter of its body now and then": {
    first: `${POST}Content-Length: 1000000\r\n\r\n`,
    again: "x",
  },
  "it sends a chunk now and then": {
    first: `${POST}Transfer-Encoding: chunked\r\n\r\n`,
    again: "1\r\nx\r\n",
  },
  "it uploads a letter now and then": {
    first: `${PUT}Content-Length: 1000000\r\n\r\n`,
    again: "x",
  },
  "it never reads a large answer": { first: `GET /large HTTP/1.1\r\n${HOST}\r\n`, deaf: true },
  "it never reads an endless answer": { first: `GET /endless HTTP/1.1\r\n${HOST}\r\n`, deaf: true },
  "it asks a hundred times and never reads": {
    first: `GET /large HTTP/1.1\r\n${HOST}\r\n`.repeat(100),
    deaf: true,
  },
  "it stays after its answer": { first: `GET /health HTTP/1.1\r\n${HOST}\r\n` },
  "it stops within its handshake": { first: `GET /socket HTTP/1.1\r\n${UPGRADE}` },
  "it opens a socket and is gone": { first: `GET /socket HTTP/1.1\r\n${UPGRADE}\r\n`, deaf: true },
  "it opens a socket and never answers a ping": { first: `GET /socket HTTP/1.1\r\n${UPGRADE}\r\n` },
  "it stops within a frame": { first: `GET /socket HTTP/1.1\r\n${UPGRADE}\r\n\x82\xff` },
};

/** Frames on a socket of the hub, behind its handshake; `closed` is what the hub does about them. */
const frame = (...bytes: number[]) => String.fromCharCode(...bytes);
const masked = (opcode: number, payload = "") =>
  frame(0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0) + payload;
export const BAD_FRAMES: Record<string, string> = {
  "a frame of 2^63 bytes": frame(0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
  "a frame of 4 GB": frame(0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
  "a frame without a mask": frame(0x81, 0x01, 0x61),
  "a ping that is too long": `${frame(0x89, 0xfe, 0x00, 0x80, 0, 0, 0, 0)}${"x".repeat(128)}`,
  "a ping in pieces": frame(0x09, 0x80, 0, 0, 0, 0),
  "an opcode that is none": masked(0x3, "x"),
  "a control opcode that is none": masked(0xb),
  "a bit that is reserved": `${frame(0xc1 | 0x20, 0x81, 0, 0, 0, 0)}x`,
  "a piece of nothing": `${frame(0x80, 0x81, 0, 0, 0, 0)}x`,
  "a new message within another": `${frame(0x01, 0x81, 0, 0, 0, 0)}x${masked(0x1, "y")}`,
  "text that is no UTF-8": masked(0x1, "\xff\xfe"),
  "a close of one byte": masked(0x8, "x"),
  "a close with a code that is none": masked(0x8, "\x00\x01"),
};

export const SLOW: AttackList = {
  what: "Clients that are slow, deaf or gone, 40 of each at once, while others are answered",
  file: "slow-clients.test.ts",
  attempts: Object.keys(SLOW_CLIENTS),
};
export const FRAMES: AttackList = {
  what: "WebSocket frames that break the protocol or a limit, and floods of pings and pieces",
  file: "slow-clients.test.ts",
  attempts: [
    ...Object.keys(BAD_FRAMES),
    "500,000 pings, no pong read",
    "a message without end, in pieces",
  ],
};
