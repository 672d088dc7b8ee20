import { z } from "@hono/zod-openapi";
import { type AppError, invalid } from "#shared/kit/errors.ts";
import { parseJson } from "#shared/kit/json.ts";
import { AssetMeta } from "./schema/asset.ts";

/**
 * Several small bodies in one request: for each the length of its head (32 bits, big endian), the head as JSON, and
 * `size` bytes. One request costs about as much as the bodies of a small page's images together.
 */
export const MAX_BATCH_BODIES = 128;
/** Limit of the whole request, heads included. The hub holds one in memory. */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** An entry with a longer head is sent in its own request, where its URLs are shortened. */
export const MAX_BATCH_HEAD_BYTES = 64 * 1024;

const LENGTH_BYTES = 4;

const BatchHead = AssetMeta.extend({
  size: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, { error: "must be a SHA-256 in lower-case hex" }),
});

export interface BatchEntry {
  meta: AssetMeta;
  size: number;
  sha256: string;
  body: Uint8Array;
}

/** The bytes before an entry's body. */
export function batchHead(meta: AssetMeta, size: number, sha256: string): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify({ ...meta, size, sha256 }));
  const head = new Uint8Array(LENGTH_BYTES + text.length);
  new DataView(head.buffer).setUint32(0, text.length);
  head.set(text, LENGTH_BYTES);
  return head;
}

const refuse = (index: number, msg: string, ...field: string[]): AppError =>
  invalid(["body", index, ...field], msg);

function readHead(text: Uint8Array, index: number) {
  let raw: unknown;
  try {
    raw = parseJson(new TextDecoder("utf-8", { fatal: true }).decode(text));
  } catch {
    throw refuse(index, "its head is not JSON");
  }
  const head = BatchHead.safeParse(raw);
  if (head.success) return head.data;
  const [issue] = head.error.issues;
  throw refuse(index, issue?.message ?? "is invalid", ...(issue?.path ?? []).map(String));
}

/**
 * The entries of a batch; their bodies are views into `bytes`.
 * @throws AppError invalid naming the entry that is malformed, before the rest of the batch is read.
 */
export function parseBatch(bytes: Uint8Array): BatchEntry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries: BatchEntry[] = [];
  const names = new Set<string>();
  for (let at = 0; at < bytes.length; ) {
    const index = entries.length;
    if (index >= MAX_BATCH_BODIES) throw refuse(index, `more than ${MAX_BATCH_BODIES} bodies`);
    if (at + LENGTH_BYTES > bytes.length) throw refuse(index, "breaks off in its head");
    const length = view.getUint32(at);
    at += LENGTH_BYTES;
    if (length > MAX_BATCH_HEAD_BYTES)
      throw refuse(index, `its head is longer than ${MAX_BATCH_HEAD_BYTES} bytes`);
    if (at + length > bytes.length) throw refuse(index, "breaks off in its head");
    const { size, sha256, ...meta } = readHead(bytes.subarray(at, at + length), index);
    at += length;
    if (at + size > bytes.length) throw refuse(index, "breaks off in its body");
    if (names.has(meta.name)) throw refuse(index, "is there twice", "name");
    names.add(meta.name);
    entries.push({ meta, size, sha256, body: bytes.subarray(at, at + size) });
    at += size;
  }
  return entries;
}
