import { STEP_MS } from "./timing.ts";

/**
 * Pictures with their moments, in the plainest form of Matroska: a head, and then a cluster for each picture. It is how a
 * program that reads a pipe is told when each raw picture is shown (RFC 9559).
 */

const HEAD = {
  ebml: 0x1a45dfa3,
  doc_type: 0x4282,
  segment: 0x18538067,
  info: 0x1549a966,
  /** Of a moment, in nanoseconds. */
  timestamp_scale: 0x2ad7b1,
  tracks: 0x1654ae6b,
  track: 0xae,
  number: 0xd7,
  uid: 0x73c5,
  type: 0x83,
  codec: 0x86,
  /** Of one picture, in nanoseconds. */
  duration: 0x23e383,
  video: 0xe0,
  width: 0xb0,
  height: 0xba,
  pixels: 0x2eb524,
} as const;
const CLUSTER = 0x1f43b675;
const TIMESTAMP = 0xe7;
const BLOCK = 0xa3;

const MILLISECOND = 1_000_000;
const VIDEO = 1;
const KEY_FRAME = 0x80;
const TRACK_1 = 0x81;

function idBytes(id: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(id);
  return bytes.subarray(bytes.findIndex((byte) => byte !== 0));
}

/** A length, or "what follows", in eight bytes. */
function sizeBytes(size: number | "unknown"): Buffer {
  const bytes = Buffer.alloc(8, 0xff);
  if (size !== "unknown") bytes.writeBigUInt64BE(BigInt(size));
  bytes[0] = 1;
  return bytes;
}

const element = (id: number, ...parts: Uint8Array[]): Buffer => {
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([idBytes(id), sizeBytes(size), ...parts]);
};
const number = (id: number, value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return element(id, bytes);
};
const text = (id: number, value: string): Buffer => element(id, Buffer.from(value));

/** What comes before the first picture. */
export const matroskaHead = (width: number, height: number): Uint8Array =>
  Buffer.concat([
    element(HEAD.ebml, text(HEAD.doc_type, "matroska")),
    idBytes(HEAD.segment),
    sizeBytes("unknown"),
    element(HEAD.info, number(HEAD.timestamp_scale, MILLISECOND)),
    element(
      HEAD.tracks,
      element(
        HEAD.track,
        number(HEAD.number, 1),
        number(HEAD.uid, 1),
        number(HEAD.type, VIDEO),
        number(HEAD.duration, STEP_MS * MILLISECOND),
        text(HEAD.codec, "V_UNCOMPRESSED"),
        element(
          HEAD.video,
          number(HEAD.width, width),
          number(HEAD.height, height),
          text(HEAD.pixels, "RGBA"),
        ),
      ),
    ),
  ]);

/** What comes before the pixels of a picture of so many bytes. */
export function pictureHead(ms: number, bytes: number): Uint8Array {
  const timestamp = number(TIMESTAMP, ms);
  const block = Buffer.from([TRACK_1, 0, 0, KEY_FRAME]);
  const block_size = block.length + bytes;
  const block_head = Buffer.concat([idBytes(BLOCK), sizeBytes(block_size), block]);
  const cluster_size = timestamp.length + block_head.length + bytes;
  return Buffer.concat([idBytes(CLUSTER), sizeBytes(cluster_size), timestamp, block_head]);
}
