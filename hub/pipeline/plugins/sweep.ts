import type { PipelineContext } from "../context.ts";
import { BLOB_PREFIX } from "./blobs.ts";

/**
 * Deletes the bodies of blobs that no row refers to: a crash left them between the store and the database. A body that
 * is just being written has no row yet either, so only bodies without one in the previous pass as well are deleted.
 */
export function createBlobSweeper(ctx: Pick<PipelineContext, "db" | "objects" | "log">) {
  let suspects = new Set<string>();
  return async function sweepBlobsOnce(): Promise<void> {
    const stored = await ctx.objects.list(BLOB_PREFIX);
    const referred = new Set(await ctx.db.plugins.blobObjects());
    const without = stored.filter((key) => !referred.has(key));
    const left = without.filter((key) => suspects.has(key));
    for (const key of left) await ctx.objects.delete(key);
    if (left.length > 0) ctx.log.info({ n: left.length }, "removed bodies of unfinished blobs");
    suspects = new Set(without.filter((key) => !left.includes(key)));
  };
}
