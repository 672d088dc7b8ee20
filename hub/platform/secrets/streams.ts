import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Key } from "./key-file.ts";
import type { Keyring } from "./keyring.ts";
import { Unopened } from "./values.ts";

/**
 * Bodies of any length, encrypted in segments (the STREAM construction, laid out as Tink's AES-GCM-HKDF streaming): a key of
 * its own for each body, made with HKDF of a random salt and of where it is stored; the nonce of a segment counts and says
 * whether it is the last. Segments that are dropped, doubled, exchanged or cut off are noticed, and so is another place.
 *
 * `FLSEAL1\n`, 8 bytes of key id, 32 of salt, 7 of nonce, then segments of 64 KiB, each with its tag.
 */

const MAGIC = Buffer.from("FLSEAL1\n");
const ID_BYTES = 8;
const SALT_BYTES = 32;
const PREFIX_BYTES = 7;
const HEAD_BYTES = MAGIC.length + ID_BYTES + SALT_BYTES + PREFIX_BYTES;
const SEGMENT_BYTES = 64 * 1024;
const TAG_BYTES = 16;
const MAX_SEGMENTS = 2 ** 32;

type Chunks = AsyncIterable<Uint8Array>;

const bodyKey = (key: Key, salt: Uint8Array, place: string): Buffer =>
  Buffer.from(hkdfSync("sha256", key.bytes, salt, `flotilla stream 1 ${place}`, 32));

function nonceOf(prefix: Uint8Array, n: number, last: boolean): Buffer {
  if (n >= MAX_SEGMENTS) throw new Error("a body is too long to be encrypted");
  const nonce = Buffer.alloc(PREFIX_BYTES + 5);
  nonce.set(prefix);
  nonce.writeUInt32BE(n, PREFIX_BYTES);
  nonce[PREFIX_BYTES + 4] = last ? 1 : 0;
  return nonce;
}

/** Pieces of exactly `size` bytes, and a last one that is marked and may be shorter; empty when there was nothing. */
async function* segments(chunks: Chunks, size: number) {
  const held: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    held.push(chunk);
    length += chunk.byteLength;
    // A piece is not the last only when at least one more byte is known to follow.
    if (length <= size) continue;
    const all = Buffer.concat(held);
    let at = 0;
    for (; all.length - at > size; at += size)
      yield { bytes: all.subarray(at, at + size), last: false };
    held.splice(0, held.length, all.subarray(at));
    length = all.length - at;
  }
  yield { bytes: Buffer.concat(held), last: true };
}

/** Encrypts a body for its place, with the first key; memory stays at a few segments. */
export async function* sealStream(
  { first }: Pick<Keyring, "first">,
  body: Chunks,
  place: string,
): AsyncGenerator<Uint8Array> {
  const salt = randomBytes(SALT_BYTES);
  const prefix = randomBytes(PREFIX_BYTES);
  const key = bodyKey(first, salt, place);
  yield Buffer.concat([MAGIC, Buffer.from(first.id, "hex"), salt, prefix]);
  let n = 0;
  for await (const { bytes, last } of segments(body, SEGMENT_BYTES)) {
    const cipher = createCipheriv("aes-256-gcm", key, nonceOf(prefix, n, last));
    yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
    n += 1;
  }
}

interface Begun {
  head: Buffer;
  rest: AsyncGenerator<Uint8Array>;
}

/** The first `HEAD_BYTES` of a body, or all of a shorter one, and the rest. */
async function begin(body: Chunks): Promise<Begun> {
  const chunks = body[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const next = await chunks.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const rest = async function* () {
    try {
      if (head.length > HEAD_BYTES) yield head.subarray(HEAD_BYTES);
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
    } finally {
      await chunks.return?.();
    }
  };
  return { head: head.subarray(0, HEAD_BYTES), rest: rest() };
}

const isSealed = (head: Buffer): boolean =>
  head.length === HEAD_BYTES && head.subarray(0, MAGIC.length).equals(MAGIC);

const idIn = (head: Buffer): string =>
  head.subarray(MAGIC.length, MAGIC.length + ID_BYTES).toString("hex");

/** Id of the key of a body with this beginning; null for one that is stored unencrypted. */
export async function streamKeyId(body: Chunks): Promise<string | null> {
  const { head, rest } = await begin(body);
  await rest.return(undefined);
  return isSealed(head) ? idIn(head) : null;
}

/**
 * What `sealStream` was given for this place; a body that an earlier version stored unencrypted comes back as it is.
 * @throws Unopened, possibly in the middle; what came before was whole
 */
export async function* openStream(
  keys: Keyring,
  body: Chunks,
  place: string,
): AsyncGenerator<Uint8Array> {
  const { head, rest } = await begin(body);
  if (!isSealed(head)) {
    if (head.length > 0) yield head;
    yield* rest;
    return;
  }
  const id = idIn(head);
  const master = keys.find(id);
  if (!master) throw new Unopened(`key ${id} is not in the key file`);
  const at = MAGIC.length + ID_BYTES;
  const key = bodyKey(master, head.subarray(at, at + SALT_BYTES), place);
  const prefix = head.subarray(at + SALT_BYTES);
  let n = 0;
  for await (const { bytes, last } of segments(rest, SEGMENT_BYTES + TAG_BYTES)) {
    yield openSegment(key, nonceOf(prefix, n, last), bytes);
    n += 1;
  }
}

function openSegment(key: Buffer, nonce: Buffer, bytes: Buffer): Buffer {
  if (bytes.length < TAG_BYTES) throw new Unopened("it is cut off");
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    throw new Unopened("it was changed or cut off, or belongs to another place");
  }
}
