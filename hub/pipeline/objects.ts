import { badRequest, notFound } from "#shared/kit/errors.ts";
import type { PipelineContext } from "./context.ts";

/**
 * An object of the object store under one of the prefixes that are served (rules/pipeline-operations#object-proxy).
 * @throws AppError bad_request for a key that tries to leave its place, not_found for every other prefix
 */
export async function findObject(
  ctx: Pick<PipelineContext, "config" | "objects">,
  key: string,
): Promise<{ size: number; tag: string }> {
  if (key.split(/[/\\]/).some((segment) => segment === ".." || segment === "."))
    throw badRequest("the key must not hold . or .. segments");
  if (!ctx.config.minio_prefixes.some((prefix) => key.startsWith(prefix)))
    throw notFound(`object under ${ctx.config.minio_prefixes.join(" or ")}`);
  const found = await ctx.objects.stat(key);
  if (!found) throw notFound("object");
  return found;
}
