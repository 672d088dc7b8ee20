import {
  batchHead,
  MAX_BATCH_BODIES,
  MAX_BATCH_BYTES,
  MAX_BATCH_HEAD_BYTES,
} from "#shared/protocol/asset-batch.ts";
import type { AssetMeta } from "#shared/protocol/schema/asset.ts";
import type { SpooledBody } from "./asset-sink.ts";
import { memoryBody, readSmallFile, SMALL } from "./body.ts";
import { reasonOfOutage } from "./outage.ts";
import type { Attempt, Upload } from "./put.ts";

/** Size of one request; the hub accepts twice as much. A worker holds one of them per lane in memory. */
const BATCH_BYTES = MAX_BATCH_BYTES / 2;

/** A body that may travel with others. */
export interface SmallBody {
  name: string;
  head: Uint8Array;
  body: SpooledBody;
}

/** Null when the body or its metadata is too large for a batch. */
export function smallBody(meta: AssetMeta, body: SpooledBody): SmallBody | null {
  if (body.size > SMALL) return null;
  const head = batchHead(meta, body.size, body.sha256);
  return head.length > MAX_BATCH_HEAD_BYTES ? null : { name: meta.name, head, body };
}

/** The hub's answer about one body of a batch. */
interface BatchAnswer {
  name?: unknown;
  sha256?: unknown;
  error?: { status?: unknown; detail?: unknown };
}

const outageOf = (error: BatchAnswer["error"]): string | null =>
  error ? reasonOfOutage(Number(error.status), JSON.stringify(error)) : null;

const lengthOf = ({ head, body }: SmallBody): number => head.length + body.size;

/** How many of the first bodies fit into one request: at least one, and no name twice. */
export function batchLength(bodies: (SmallBody | null)[]): number {
  const names = new Set<string>();
  let bytes = 0;
  for (const small of bodies.slice(0, MAX_BATCH_BODIES)) {
    if (!small || names.has(small.name)) break;
    bytes += lengthOf(small);
    if (bytes > BATCH_BYTES) break;
    names.add(small.name);
  }
  return Math.max(1, names.size);
}

/**
 * The request that carries `bodies`. The names of those the hub has stored are added to `answers`; any other must be
 * sent alone. Null when no body can be read.
 */
export function batchUpload(
  url: string,
  headers: Record<string, string>,
  bodies: SmallBody[],
  answers: Set<string>,
): Upload | null {
  const content = contentOf(bodies);
  if (content.length === 0) return null;
  return {
    url,
    headers,
    size: content.length,
    open: async () => memoryBody(content),
    accept: (text): Attempt => {
      const { items = [] } = (JSON.parse(text) as { items?: BatchAnswer[] } | null) ?? {};
      const sums = new Map(items.map(({ name, sha256 }) => [name, sha256]));
      for (const { name, body } of bodies) if (sums.get(name) === body.sha256) answers.add(name);
      const outage = items.map(({ error }) => outageOf(error)).find((why) => why !== null);
      // The hub confirms stored bodies once more and does not store them again.
      return outage ? { kind: "retry", reason: outage, outage: true } : { kind: "stored" };
    },
    // The hub accepts no batches, or not this one.
    refused: () => ({ kind: "stored" }),
  };
}

/** Heads and bodies in one piece; a body that cannot be read is left out. */
function contentOf(bodies: SmallBody[]): Uint8Array<ArrayBuffer> {
  const content = new Uint8Array(bodies.reduce((sum, small) => sum + lengthOf(small), 0));
  let at = 0;
  for (const { head, body } of bodies) {
    const into = content.subarray(at + head.length, at + head.length + body.size);
    if (body.bytes) into.set(body.bytes);
    else if (!readSmallFile(body.path, into)) continue;
    content.set(head, at);
    at += head.length + body.size;
  }
  return content.subarray(0, at);
}
