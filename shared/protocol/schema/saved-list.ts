import { z } from "@hono/zod-openapi";

/** Lists that can be saved, each with the page that shows it. */
const SAVED_LIST_PAGES = ["jobs", "runs", "tasks", "sessions", "hosts"] as const;
const MAX_FILTERS = 24;

const isText = (text: string): boolean => text.isWellFormed() && !/\p{Cc}/u.test(text);

/** Filters as they stand in the address of the list's page. */
export const ListFilters = z
  .record(z.string().min(1).max(64), z.string().max(500).refine(isText))
  .refine((filters) => Object.keys(filters).length <= MAX_FILTERS, {
    error: `at most ${MAX_FILTERS} filters`,
  });
export type ListFilters = z.infer<typeof ListFilters>;

export const SavedListPage = z.enum(SAVED_LIST_PAGES);
export type SavedListPage = z.infer<typeof SavedListPage>;

/** Its name, which people read. */
export const SavedListName = z
  .string()
  .trim()
  .min(1)
  .max(60)
  .refine(isText, { error: "must not contain control characters" });

/** Body of PUT /api/v1/saved-lists/{page}/{name}. */
export const PutSavedList = z.strictObject({ filters: ListFilters }).openapi("PutSavedList");
export type PutSavedList = z.infer<typeof PutSavedList>;

/** A list with its filters, kept under a name (rules/saved-lists#what-a-saved-list-is). */
export const SavedList = z
  .object({
    page: SavedListPage,
    name: z.string(),
    filters: ListFilters,
    saved_by: z.string().openapi({ description: "Who saved it first" }),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .openapi("SavedList");
export type SavedList = z.infer<typeof SavedList>;

export const SavedLists = z.object({ saved_lists: z.array(SavedList) }).openapi("SavedLists");
