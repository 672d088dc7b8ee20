import type { SavedList, SearchResult } from "./client-types.ts";
import type { CallOptions, Http } from "./http.ts";

/** What is found by a few words (rules/search#calls). */
export const searchCalls = (http: Http) => ({
  /** Jobs, sessions, workers, hosts and what else the fleet knows, best first. */
  fleet: (
    q: string,
    { limit, ...call }: CallOptions & { limit?: number } = {},
  ): Promise<SearchResult> =>
    http.call("GET /search", { ...call, query: { q, ...(limit !== undefined && { limit }) } }),
  /** Workloads, tasks, runs, pull workers and host agents, best first. */
  pipeline: (
    q: string,
    { limit, ...call }: CallOptions & { limit?: number } = {},
  ): Promise<SearchResult> =>
    http.call("GET /api/v1/search", {
      ...call,
      query: { q, ...(limit !== undefined && { limit }) },
    }),
});

type Page = SavedList["page"];

/** Lists with their filters, kept under a name (rules/saved-lists#calls). */
export const savedListCalls = (http: Http) => ({
  /** Of one page, or of all. */
  list: async (page?: Page, call?: CallOptions): Promise<SavedList[]> =>
    (await http.call("GET /api/v1/saved-lists", { ...call, query: page ? { page } : {} }))
      .saved_lists,
  put: (
    page: Page,
    name: string,
    filters: Record<string, string>,
    call?: CallOptions,
  ): Promise<SavedList> =>
    http.call("PUT /api/v1/saved-lists/{page}/{name}", {
      ...call,
      params: { page, name },
      json: { filters },
    }),
  delete: (page: Page, name: string, call?: CallOptions): Promise<null> =>
    http.call("DELETE /api/v1/saved-lists/{page}/{name}", { ...call, params: { page, name } }),
});
