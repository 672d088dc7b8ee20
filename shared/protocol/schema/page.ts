import { z } from "@hono/zod-openapi";

/** For lists that nearly always fit into one answer: everything, unless the caller asks for less. */
const MAX_PAGE = 1_000;

/** Query of a list: `cursor` is the `next_cursor` of the previous page, and opaque. */
export const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(MAX_PAGE),
  cursor: z.string().min(1).max(2_048).optional(),
});
export type PageQuery = z.infer<typeof PageQuery>;

/** A cursor that is a number to us, and opaque to callers. */
export const NumberCursor = z.coerce.number().int().min(1).openapi({ type: "string" });

/**
 * A boolean in a query: `true` or `false`, and what forms and shells send for them (`1`, `yes`, `on` and their
 * opposites).
 */
export const QueryBoolean = z.stringbool().openapi({ type: "boolean" });

/** What every list returns besides its items; null on the last page. */
export const NextCursor = { next_cursor: z.string().nullable() };

/**
 * The page of a list that is held as a whole, in the order of its keys, which are unique. Items added or removed
 * between two pages move no other item.
 */
export function pageOf<T>(
  all: readonly T[],
  keyOf: (item: T) => string,
  { limit, cursor }: PageQuery,
): { page: T[]; next_cursor: string | null } {
  const left = all
    .map((item) => ({ item, key: keyOf(item) }))
    .filter(({ key }) => cursor === undefined || key > cursor)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const page = left.slice(0, limit);
  return {
    page: page.map(({ item }) => item),
    next_cursor: left.length > limit ? (page.at(-1)?.key ?? null) : null,
  };
}
