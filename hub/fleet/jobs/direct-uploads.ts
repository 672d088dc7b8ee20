import type { DirectStore, ObjectInfo } from "#hub/platform/stores/objects.ts";
import { AppError, notFound } from "#shared/kit/errors.ts";
import type { DirectUpload, DirectUploadDone } from "#shared/protocol/schema/direct-upload.ts";
import type { FleetContext } from "../context.ts";
import type { JobLane } from "../links/worker-link.ts";
import { assetKey, confirmLease, type StoredFile, staleLease } from "./stored-files.ts";

const UPLOAD_ID = /^[0-9a-f-]{36}$/;

/** Bodies of one assignment are stored together; a caller cannot name those of an earlier one. */
const ownerOf = ({ lease }: JobLane) => `${lease.job_id}-${lease.token}`;

function direct(ctx: Pick<FleetContext, "config" | "objects">): DirectStore {
  const store = ctx.config.direct_uploads ? ctx.objects.direct : undefined;
  if (!store) throw notFound("direct upload");
  return store;
}

/** Permission to put one body into the object store. @throws AppError not_found when that is off, too_large. */
export async function beginDirectUpload(
  ctx: Pick<FleetContext, "config" | "objects">,
  held: JobLane,
  info: ObjectInfo,
): Promise<DirectUpload> {
  const store = direct(ctx);
  const max_bytes = Math.min(store.max_bytes, ctx.config.max_asset_bytes);
  if (info.size > max_bytes)
    throw new AppError("too_large", `body is longer than ${max_bytes} bytes`);
  return store.begin(ownerOf(held), info);
}

/**
 * Makes a body in the object store an asset, under the job's lease. A repeated call gets the same answer.
 * @throws AppError not_found when no body came, invalid when it is another one, conflict "stale lease".
 */
export async function endDirectUpload(
  ctx: Pick<FleetContext, "db" | "objects" | "config">,
  held: JobLane,
  id: string,
  { size, sha256, ...meta }: DirectUploadDone,
): Promise<StoredFile> {
  if (!UPLOAD_ID.test(id)) throw notFound("direct upload");
  const { job_id, token } = held.lease;
  const { name } = meta;
  const key = assetKey(job_id, name);
  const info = { size, sha256 };
  const placed = await direct(ctx).adopt(ownerOf(held), id, key, info, confirmLease(ctx, held));
  if (!placed) {
    const row = await ctx.db.assets.get(job_id, name);
    if (row?.sha256 === sha256 && row.size === size) return { name, ...info };
    throw notFound("body of the direct upload");
  }
  if (await ctx.db.assets.put({ ...meta, job_id, ...info }, token)) return { name, ...info };
  // The job ended after the check just above: a body without its row must not stay behind.
  if (!(await ctx.db.assets.get(job_id, name))) await ctx.objects.delete(key);
  throw staleLease();
}
