import { randomBytes } from "node:crypto";

/**
 * What an X server demands of its clients: a cookie, in the format of libXau (MIT-MAGIC-COOKIE-1). Without it, every
 * user of the machine could watch the screen and type into its windows.
 */
const PROTOCOL = Buffer.from("MIT-MAGIC-COOKIE-1", "latin1");
const COOKIE_BYTES = 16;
/** Matches a display with this number on any host. */
const ANY_HOST = 0xffff;

export const newXCookie = (): Buffer => randomBytes(COOKIE_BYTES);

function counted(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** The file that server and clients read: `-auth`, `XAUTHORITY`. */
export function authorityFile(number: number, cookie: Uint8Array): Buffer {
  const family = Buffer.alloc(2);
  family.writeUInt16BE(ANY_HOST);
  const fields = [Buffer.alloc(0), Buffer.from(String(number), "latin1"), PROTOCOL, cookie];
  return Buffer.concat([family, ...fields.map(counted)]);
}

const padded = (bytes: Uint8Array): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);

/** A client's first message, in the byte order of the machines that browsers run on. */
export function xHello(cookie: Uint8Array): Buffer {
  const head = Buffer.from([0x6c, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16LE(PROTOCOL.length, 6);
  head.writeUInt16LE(cookie.length, 8);
  return Buffer.concat([head, padded(PROTOCOL), padded(cookie)]);
}
