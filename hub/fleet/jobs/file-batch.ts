import { AppError, type Issue } from "#shared/kit/errors.ts";
import type { BatchEntry } from "#shared/protocol/asset-batch.ts";
import type { FleetContext } from "../context.ts";
import {
  assetKey,
  confirmLease,
  type requireLease,
  type StoredFile,
  staleLease,
} from "./stored-files.ts";

type Held = ReturnType<typeof requireLease>;

export interface RefusedFile {
  name: string;
  error: { status: number; detail: string | Issue[] };
}

/** The answer for one entry; an unforeseen error must not look like the worker's fault. */
const refused = (ctx: Pick<FleetContext, "log">, name: string, err: unknown): RefusedFile => {
  if (err instanceof AppError) return { name, error: { status: err.status, detail: err.detail } };
  ctx.log.error({ err, name }, "upload failed");
  return { name, error: { status: 500, detail: "internal error" } };
};

/**
 * Stores several small assets, as `storeAsset` does with one: each gets its own answer, in the order given, and all
 * rows are written together once every file is on disk.
 * @throws AppError conflict "stale lease"; then nothing of the batch stays behind.
 */
export async function storeAssets(
  ctx: Pick<FleetContext, "config" | "db" | "objects" | "log">,
  held: Held,
  entries: BatchEntry[],
): Promise<(StoredFile | RefusedFile)[]> {
  const { job_id, token } = held.lease;
  const { max_asset_bytes } = ctx.config;
  const names = entries.map(({ meta }) => meta.name);
  const known = new Map((await ctx.db.assets.find(job_id, names)).map((row) => [row.name, row]));
  const isStored = ({ meta, size, sha256 }: BatchEntry) => {
    const row = known.get(meta.name);
    return row?.sha256 === sha256 && row.size === size;
  };
  const isNew = (entry: BatchEntry) => entry.size <= max_asset_bytes && !isStored(entry);

  const fresh = entries.filter(isNew);
  const objects = fresh.map(({ meta, body, size, sha256 }) => ({
    key: assetKey(job_id, meta.name),
    body,
    size,
    sha256,
  }));
  const results =
    fresh.length === 0 ? [] : await ctx.objects.putMany(objects, confirmLease(ctx, held));
  const errors = new Map<string, unknown>();
  const placed: BatchEntry[] = [];
  for (const [i, entry] of fresh.entries()) {
    const result = results[i];
    if (result && !("error" in result)) placed.push(entry);
    else errors.set(entry.meta.name, result?.error);
  }
  await writeRows(ctx, job_id, placed, token);
  return entries.map((entry) => {
    const { name } = entry.meta;
    if (errors.has(name)) return refused(ctx, name, errors.get(name));
    if (!isStored(entry) && !isNew(entry)) {
      const long = `body is longer than ${max_asset_bytes} bytes`;
      return refused(ctx, name, new AppError("too_large", long));
    }
    return { name, size: entry.size, sha256: entry.sha256 };
  });
}

async function writeRows(
  ctx: Pick<FleetContext, "db" | "objects">,
  job_id: string,
  placed: BatchEntry[],
  token: number,
): Promise<void> {
  if (placed.length === 0) return;
  const rows = placed.map(({ meta, size, sha256 }) => ({ ...meta, job_id, size, sha256 }));
  if (await ctx.db.assets.putMany(job_id, rows, token)) return;
  // The job ended after the check just above: a body without its row must not stay behind.
  const names = rows.map(({ name }) => name);
  const kept = new Set((await ctx.db.assets.find(job_id, names)).map(({ name }) => name));
  const orphans = names.filter((name) => !kept.has(name));
  await Promise.all(orphans.map((name) => ctx.objects.delete(assetKey(job_id, name))));
  throw staleLease();
}
