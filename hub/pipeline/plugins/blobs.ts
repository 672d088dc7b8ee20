import type { PluginBlobRow } from "#hub/platform/db/rows.ts";
import { DeadlineError, isoTime } from "#shared/kit/clock.ts";
import { AppError, notFound } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import {
  MAX_BLOB_BYTES,
  type PluginBlob,
  type PluginKeysQuery,
} from "#shared/protocol/schema/plugin.ts";
import type { PipelineContext } from "../context.ts";
import { keysOf, type PluginPlace } from "./state.ts";

/** In the object store. */
export const BLOB_PREFIX = "plugins";

const blobRecord = ({ key, size, mime, sha256, updated_at }: PluginBlobRow): PluginBlob => ({
  key,
  size,
  mime,
  sha256,
  updated_at: isoTime(updated_at),
});

/** @throws AppError not_found */
export async function getBlob(
  ctx: Pick<PipelineContext, "db">,
  { slug, key }: PluginPlace,
): Promise<PluginBlobRow> {
  const row = await ctx.db.plugins.getBlob(slug, key);
  if (!row) throw notFound("blob");
  return row;
}

export async function listBlobs(
  ctx: Pick<PipelineContext, "db">,
  slug: string,
  query: PluginKeysQuery,
) {
  const { page, next_cursor } = await keysOf(query, (keys) => ctx.db.plugins.listBlobs(slug, keys));
  return { blobs: page.map(blobRecord), next_cursor };
}

export interface BlobUpload {
  body: ReadableStream<Uint8Array> | Uint8Array;
  mime: string;
  signal: AbortSignal;
}

/**
 * Stores a body of at most 5 MB, counted as it arrives (rules/pipeline-plugins#blobs). The object is written under its
 * own name and then made current by one statement, so a reader that opened the blob before still gets all of the old
 * one.
 * @throws AppError too_large, or timed_out when the deadline of `signal` passes; the previous blob stays.
 */
export async function putBlob(
  ctx: Pick<PipelineContext, "objects" | "clock" | "db">,
  { slug, key }: PluginPlace,
  { body, mime, signal }: BlobUpload,
): Promise<PluginBlob> {
  const object_key = `${BLOB_PREFIX}/p-${slug}/${newToken()}`;
  const limits = { max_bytes: MAX_BLOB_BYTES, signal };
  const stored = await ctx.objects.put(object_key, body, limits).catch((err: unknown) => {
    if (err instanceof AppError && err.kind === "too_large")
      throw new AppError("too_large", `a blob is at most ${MAX_BLOB_BYTES} bytes`);
    if (err instanceof DeadlineError)
      throw new AppError("timed_out", "the blob did not arrive in time", { cause: err });
    throw err;
  });
  const row = { slug, key, object_key, mime, ...stored, updated_at: ctx.clock.now() };
  let replaced: string | null;
  try {
    replaced = await ctx.db.plugins.putBlob(row);
  } catch (err) {
    await ctx.objects.delete(object_key);
    throw err;
  }
  if (replaced !== null) await ctx.objects.delete(replaced);
  return blobRecord(row);
}

/** @throws AppError not_found */
export async function deleteBlob(
  ctx: Pick<PipelineContext, "db" | "objects">,
  { slug, key }: PluginPlace,
): Promise<void> {
  const object_key = await ctx.db.plugins.deleteBlob(slug, key);
  if (object_key === null) throw notFound("blob");
  await ctx.objects.delete(object_key);
}
