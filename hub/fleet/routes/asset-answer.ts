import type { Context } from "hono";
import { fileResponse } from "#hub/platform/http/file-response.ts";
import { notFound } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";
import { assetKey, getAsset } from "../jobs/stored-files.ts";

/** The body of an asset, or the part the client asked for. @throws AppError not_found */
export async function assetAnswer(
  ctx: Pick<FleetContext, "objects" | "db">,
  c: Context,
  { job_id, name }: { job_id: string; name: string },
): Promise<Response> {
  const row = await getAsset(ctx, job_id, name);
  const key = assetKey(row.job_id, row.name);
  const answer = await fileResponse(c, {
    ...row,
    read: (range) => ctx.objects.read(key, range),
    file: async () => (await ctx.objects.localFile?.(key)) ?? null,
  });
  if (!answer) throw notFound("asset");
  return answer;
}
