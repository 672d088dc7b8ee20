import type { AssetRow } from "#hub/platform/db/rows.ts";
import type { SmallObject } from "#hub/platform/stores/objects.ts";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { assetKind, createNamer } from "#shared/archive/asset-names.ts";
import { type Chunks, chunksOf, streamOf } from "#shared/archive/streams.ts";
import { isSafeName } from "#shared/protocol/names.ts";
import type { FleetContext } from "../context.ts";
import { assetKey } from "../jobs/stored-files.ts";
import { IMPORT_LIMITS } from "./limits.ts";

export type ImportedAsset = Omit<AssetRow, "position">;

/** What is known of a body before it is read. */
interface BodyFacts {
  url: string;
  mime: string;
  page_url: string;
  status: number | null;
  /** The name that the archive asks for. */
  name?: string;
}

/** Stores bodies as they come. Small ones go together, because each alone costs a few milliseconds. */
export interface Bodies {
  /** Null for an empty one. @throws ArchiveError beyond the number of assets. */
  store(facts: BodyFacts, chunks: Chunks): Promise<ImportedAsset | null>;
  /** The same body once more, for another URL. @throws as `store` */
  repeat(asset: ImportedAsset, facts: BodyFacts): Promise<ImportedAsset | null>;
  /** Every body so far is in the store afterwards. */
  flush(): Promise<void>;
  readonly assets: readonly ImportedAsset[];
}

const SMALL_BYTES = 256 * 1024;
const TOGETHER = 64;

export function createBodies(
  ctx: Pick<FleetContext, "objects" | "config">,
  job_id: string,
  count: (bytes: number) => void,
  signal: AbortSignal,
): Bodies {
  const namer = createNamer();
  const assets: ImportedAsset[] = [];
  let waiting: SmallObject[] = [];

  const flush = async () => {
    const objects = waiting;
    waiting = [];
    if (objects.length === 0) return;
    for (const result of await ctx.objects.putMany(objects))
      if ("error" in result) throw result.error;
  };
  const put = async (key: string, { first, rest }: Beginning) => {
    if (rest === null) {
      const sha256 = new Bun.CryptoHasher("sha256").update(first).digest("hex");
      waiting.push({ key, body: first, size: first.length, sha256 });
      if (waiting.length >= TOGETHER) await flush();
      return { size: first.length, sha256 };
    }
    const max_bytes = ctx.config.max_asset_bytes;
    return ctx.objects.put(key, streamOf(joined(first, rest)), { max_bytes, signal });
  };
  const store: Bodies["store"] = async ({ url, mime, page_url, status, name: wanted }, chunks) => {
    const beginning = await beginningOf(counted(chunks, count));
    if (beginning.first.length === 0) return null;
    if (assets.length >= IMPORT_LIMITS.assets) {
      await beginning.rest?.return(undefined);
      throw new ArchiveError(`the archive has more than ${IMPORT_LIMITS.assets} bodies`, {
        too_large: true,
      });
    }
    const suggested = wanted !== undefined && isSafeName(wanted) ? wanted : undefined;
    const { name, mime: type, ext } = namer.take(url, mime, suggested);
    const { size, sha256 } = await put(assetKey(job_id, name), beginning);
    const asset: ImportedAsset = {
      job_id,
      name,
      kind: assetKind(type),
      mime: type,
      ext,
      size,
      sha256,
      source_url: url,
      page_url,
      frame_url: null,
      status,
      from_cache: false,
      from_service_worker: false,
      partial: false,
      refetched: false,
      ranges: [],
    };
    assets.push(asset);
    return asset;
  };
  const repeat: Bodies["repeat"] = async ({ name }, facts) => {
    await flush();
    const body = await ctx.objects.read(assetKey(job_id, name));
    return body && store(facts, chunksOf(body));
  };
  return { assets, flush, store, repeat };
}

/** A small body whole, or the beginning of a larger one with what follows. */
interface Beginning {
  first: Uint8Array;
  rest: AsyncGenerator<Uint8Array> | null;
}

async function beginningOf(chunks: AsyncGenerator<Uint8Array>): Promise<Beginning> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  while (bytes <= SMALL_BYTES) {
    const { done, value } = await chunks.next();
    if (done) return { first: Buffer.concat(parts), rest: null };
    bytes += value.length;
    parts.push(value);
  }
  return { first: Buffer.concat(parts), rest: chunks };
}

async function* joined(first: Uint8Array, rest: Chunks): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

async function* counted(
  chunks: Chunks,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    count(chunk.length);
    yield chunk;
  }
}
