import type { SlugRepo } from "#hub/platform/db/library-types.ts";
import { invalid, notFound } from "#shared/kit/errors.ts";
import { RegistrySlug } from "#shared/protocol/schema/engine.ts";

/**
 * The slug of a path that something is stored under; `given` is the one in the body, if any.
 * @throws AppError invalid naming the path, or the body's slug when it is another
 */
export function writableSlug(raw: string, given: string | undefined): string {
  const slug = RegistrySlug.safeParse(raw);
  if (!slug.success) throw invalid(["path", "slug"], slug.error.issues[0]?.message ?? "is no slug");
  if (given !== undefined && given !== raw)
    throw invalid(["body", "slug"], "is not the slug of the path");
  return raw;
}

/** @throws AppError not_found. */
export async function rowOf<Row extends { slug: string }>(
  repo: Pick<SlugRepo<Row, never>, "get">,
  slug: string,
  what: string,
): Promise<Row> {
  const row = await repo.get(slug);
  if (!row) throw notFound(what);
  return row;
}

/** @throws AppError not_found. */
export async function removeRow(
  repo: { delete(slug: string): Promise<boolean> },
  slug: string,
  what: string,
): Promise<void> {
  if (!(await repo.delete(slug))) throw notFound(what);
}
