import type { z } from "@hono/zod-openapi";
import type { AssetRow } from "#hub/platform/db/rows.ts";
import type { ObjectInfo } from "#hub/platform/stores/objects.ts";
import { AppError, conflict, notFound } from "#shared/kit/errors.ts";
import { ownBound } from "#shared/protocol/documents.ts";
import { MAX_DOCUMENT_BYTES } from "#shared/protocol/limits.ts";
import { isSafeName } from "#shared/protocol/names.ts";
import type { Asset, AssetMeta, DocumentName, JobResult } from "#shared/protocol/schema/asset.ts";
import type { FleetContext } from "../context.ts";
import type { JobLane } from "../links/worker-link.ts";
import { comingBack } from "../sessions/hub-session.ts";
import { getRow } from "./read-jobs.ts";
import { assetHref, assetRecord, documentHref } from "./record.ts";

/** Object keys of a job. Names are checked where they come in; the store checks every segment again. */
export const jobPrefix = (job_id: string) => `jobs/${job_id}`;
export const assetKey = (job_id: string, name: string) => `jobs/${job_id}/assets/${name}`;
export const documentKey = (job_id: string, name: DocumentName) => `jobs/${job_id}/${name}`;

export interface StoredFile {
  name: string;
  size: number;
  sha256: string;
}

export interface Upload {
  body: ReadableStream<Uint8Array>;
  sha256: string;
  size: number | undefined;
  signal: AbortSignal;
}

/** Final for the worker: it stops uploading for this job. */
export const staleLease = () => conflict("stale lease");

/**
 * Stores an asset body under the job's lease. The same name and checksum again is answered without storing it twice.
 * @throws AppError conflict "stale lease", too_large, invalid when the checksum differs.
 */
export async function storeAsset(
  ctx: Pick<FleetContext, "db" | "config" | "objects">,
  held: JobLane,
  meta: AssetMeta,
  upload: Upload,
): Promise<StoredFile> {
  const { job_id, token } = held.lease;
  const { name } = meta;
  const stored = await ctx.db.assets.get(job_id, name);
  if (stored && stored.sha256 === upload.sha256 && stored.size === upload.size) {
    await upload.body.cancel();
    return { name, size: stored.size, sha256: stored.sha256 };
  }
  const key = assetKey(job_id, name);
  const { sha256, size } = await putObject(ctx, held, key, upload, ctx.config.max_asset_bytes);
  if (await ctx.db.assets.put({ ...meta, job_id, size, sha256 }, token))
    return { name, size, sha256 };
  // The job ended after the check just above: a body without its row must not stay behind.
  if (!(await ctx.db.assets.get(job_id, name))) await ctx.objects.delete(key);
  throw staleLease();
}

/** Stores a document that the worker made. @throws as `storeAsset`. */
export async function storeDocument(
  ctx: Pick<FleetContext, "config" | "db" | "objects">,
  held: JobLane,
  name: DocumentName,
  upload: Upload,
): Promise<StoredFile> {
  const { job_id } = held.lease;
  const key = documentKey(job_id, name);
  const max_bytes = Math.min(ownBound(name), MAX_DOCUMENT_BYTES, ctx.config.max_asset_bytes);
  const { size, sha256 } = await putObject(ctx, held, key, upload, max_bytes);
  // Deleted after the check just above.
  if (await ctx.db.documents.put(job_id, name, size)) return { name, size, sha256 };
  await ctx.objects.delete(key);
  throw staleLease();
}

/** A body may take minutes to come in, and replaces what is there only while the lease is still the job's. */
async function putObject(
  ctx: Pick<FleetContext, "objects" | "db">,
  held: JobLane,
  key: string,
  { body, sha256, size, signal }: Upload,
  max_bytes: number,
): Promise<ObjectInfo> {
  if (size !== undefined && size > max_bytes) {
    await body.cancel();
    throw new AppError("too_large", `body is longer than ${max_bytes} bytes`);
  }
  const checks = { sha256, ...(size === undefined ? {} : { size }), max_bytes };
  return ctx.objects.put(key, body, {
    ...checks,
    signal,
    confirm: confirmLease(ctx, held),
  });
}

/** The check just before bodies become files. @throws AppError conflict "stale lease". */
export const confirmLease =
  (ctx: Pick<FleetContext, "db">, held: JobLane) => async (): Promise<void> => {
    const row = await ctx.db.jobs.get(held.lease.job_id);
    const leased = row?.status === "running" && row.lease_token === held.lease.token;
    if (!leased || held.done) throw staleLease();
  };

/** The lane an upload belongs to. @throws AppError unauthorized, or conflict "stale lease". */
export function requireLease(
  ctx: Pick<FleetContext, "links" | "awaited">,
  worker_id: string,
  isToken: (upload_token: string) => boolean,
  job_id: string,
  lease_token: number,
): JobLane {
  const link = ctx.links.get(worker_id);
  // The worker will be known again in a moment, and sends the body again.
  if (link ? !link.ready : ctx.awaited.links.has(worker_id)) throw comingBack();
  if (!link || !isToken(link.upload_token)) throw new AppError("unauthorized", "bad upload token");
  const held = link.heldBy(job_id, lease_token);
  if (!held || held.done) throw staleLease();
  return held;
}

export async function listAssets(ctx: Pick<FleetContext, "db">, job_id: string): Promise<Asset[]> {
  await getRow(ctx, job_id);
  return (await ctx.db.assets.list(job_id)).map(assetRecord);
}

/** @throws AppError not_found, also for a name that no asset can have. */
export async function getAsset(
  ctx: Pick<FleetContext, "db">,
  job_id: string,
  name: string,
): Promise<AssetRow> {
  await getRow(ctx, job_id);
  const row = isSafeName(name) ? await ctx.db.assets.get(job_id, name) : null;
  if (!row) throw notFound("asset");
  return row;
}

/** Where a document that the worker uploaded is read; null while it does not exist. */
const storedHref = async (ctx: Pick<FleetContext, "objects">, job_id: string, name: DocumentName) =>
  (await ctx.objects.stat(documentKey(job_id, name))) && documentHref(job_id, name);

/** GET /jobs/{id}/result: an href is null while its file does not exist. */
export async function getResult(
  ctx: Pick<FleetContext, "db" | "objects">,
  job_id: string,
): Promise<z.infer<typeof JobResult>> {
  const row = await getRow(ctx, job_id);
  const [assets, html_href, links_href, har_href] = await Promise.all([
    ctx.db.assets.list(job_id),
    storedHref(ctx, job_id, "page.html"),
    storedHref(ctx, job_id, "links.json"),
    storedHref(ctx, job_id, "har.json"),
  ]);
  return {
    job_id,
    status: row.status,
    html_href,
    log_href: documentHref(job_id, "log.txt"),
    har_href,
    links_href,
    assets: assets.map(({ name, kind, size }) => ({
      name,
      href: assetHref(job_id, name),
      kind,
      size,
    })),
    capture: row.capture,
  };
}
