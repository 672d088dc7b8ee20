import { z } from "@hono/zod-openapi";

const FLEET_KINDS = [
  "job",
  "session",
  "worker",
  "host",
  "profile",
  "watch",
  "preset",
  "skill",
  "engine",
] as const;
const PIPELINE_KINDS = ["workload", "task", "run", "pull_worker", "agent"] as const;
const KINDS = [...FLEET_KINDS, ...PIPELINE_KINDS] as const;
export type HitKind = (typeof KINDS)[number];

/** Query of GET /search and GET /api/v1/search. */
export const SearchQuery = z.object({
  q: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .openapi({ description: "Words, each the beginning of one; or an id, a key or its beginning" }),
  limit: z.coerce.number().int().min(1).max(50).default(20),
});
export type SearchQuery = z.infer<typeof SearchQuery>;

/** One thing that was found (rules/search#hits). */
export const SearchHit = z
  .object({
    kind: z.enum(KINDS),
    id: z.string().openapi({ description: "By which the API names it; the key of a task" }),
    title: z.string(),
    detail: z.string().openapi({ description: "What tells it apart from others of its title" }),
    state: z.string().nullable(),
    at: z.string().nullable().openapi({ description: "When it was made or last heard of" }),
    href: z.string().openapi({ description: "Its address in the API" }),
    workload: z.string().nullable().openapi({ description: "Slug, of a task or a run" }),
  })
  .openapi("SearchHit");
export type SearchHit = z.infer<typeof SearchHit>;

export const SearchResult = z
  .object({
    q: z.string(),
    hits: z.array(SearchHit),
    incomplete: z
      .array(z.enum(KINDS))
      .openapi({ description: "Kinds that could not be searched in time" }),
  })
  .openapi("SearchResult");
export type SearchResult = z.infer<typeof SearchResult>;
