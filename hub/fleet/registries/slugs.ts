import type { SlugRepo } from "#hub/platform/db/library-types.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { invalid, notFound } from "#shared/kit/errors.ts";
import { RegistrySlug } from "#shared/protocol/schema/engine.ts";
import type { PageQuery } from "#shared/protocol/schema/page.ts";
import type { FleetContext } from "../context.ts";

/** What an entry of every registry has; milliseconds since the epoch. */
interface Kept {
  slug: string;
  created_at: number;
  updated_at: number;
}

/** An entry as it is answered: `Fields` are what sets its registry apart. */
export type Entry<Fields> = Fields & { slug: string; created_at: string; updated_at: string };

/** The body of a PUT; a slug in it must be that of the path. */
export type PutEntry<Fields> = Fields & { slug?: string | undefined };

/** What a registry needs: where its entries are, and the time. */
type RegistryContext = Pick<FleetContext, "db" | "clock">;

/** The calls of a registry. */
export interface Registry<Fields = object, Query = PageQuery> {
  /** By slug. */
  list(ctx: RegistryContext, query: Query): Promise<Entry<Fields>[]>;
  /** @throws AppError not_found. */
  get(ctx: RegistryContext, slug: string): Promise<Entry<Fields>>;
  /**
   * Creates or replaces.
   * @throws AppError invalid for an invalid slug, or for what the registry refuses.
   */
  put(ctx: RegistryContext, raw: string, input: PutEntry<Fields>): Promise<Entry<Fields>>;
  /** @throws AppError not_found. */
  delete(ctx: RegistryContext, slug: string): Promise<void>;
}

/** What sets a registry apart from the others. */
interface RegistryKind<Fields, Query> {
  /** What it calls an entry. */
  one: string;
  rows(ctx: RegistryContext): SlugRepo<Fields & Kept>;
  /** The entries that a list with this query shows; all, when it is left out. */
  shows?(query: Query): (row: Fields) => boolean;
  /** @throws AppError invalid for fields that fit the schema, but not one another. */
  check?(fields: Fields): void;
}

/** Lists, reads, puts and deletes what people keep under slugs (rules/library#registry-calls). */
export function slugRegistry<Fields extends object, Query = PageQuery>(
  kind: RegistryKind<Fields, Query>,
): Registry<Fields, Query> {
  const entry = (row: Fields & Kept): Entry<Fields> => ({
    ...row,
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  });
  return {
    list: async (ctx, query) => {
      const rows = await kind.rows(ctx).list();
      return (kind.shows ? rows.filter(kind.shows(query)) : rows).map(entry);
    },
    get: async (ctx, slug) => entry(await rowOf(kind.rows(ctx), slug, kind.one)),
    put: async (ctx, raw, input) => {
      const slug = writableSlug(raw, input.slug);
      kind.check?.(input);
      const now = ctx.clock.now();
      const row = { ...input, slug, created_at: now, updated_at: now };
      return entry(await kind.rows(ctx).put(row));
    },
    delete: (ctx, slug) => removeRow(kind.rows(ctx), slug, kind.one),
  };
}

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
