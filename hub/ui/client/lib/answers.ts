import type { QueryClient } from "@tanstack/react-query";
import type { AnswerOf, JsonOperation } from "#shared/client/operation.ts";
import { getKey, type JsonPath, type ReadOf } from "./query-key.ts";

/** Where a resource is read, and where lists have it: under which field, and by what it is told from the others. */
interface Place {
  path: JsonPath;
  list?: { field: string; id: string };
}

const JOB = { path: "/jobs/{id}", list: { field: "jobs", id: "job_id" } } as const;
const HOST = { path: "/hosts/{host}", list: { field: "hosts", id: "host" } } as const;
const WATCH = { path: "/watches/{watch_id}", list: { field: "watches", id: "watch_id" } } as const;
const WORKER = { path: "/workers/{id}", list: { field: "workers", id: "worker_id" } } as const;
const PRESET = { path: "/presets/{slug}", list: { field: "presets", id: "slug" } } as const;
const SKILL = { path: "/skills/{slug}", list: { field: "skills", id: "slug" } } as const;
const ENGINE = { path: "/engines/{slug}", list: { field: "engines", id: "slug" } } as const;
const CONVENTION = {
  path: "/conventions/{slug}",
  list: { field: "conventions", id: "slug" },
} as const;
const WORKLOAD = {
  path: "/api/v1/workloads/{slug}",
  list: { field: "workloads", id: "slug" },
} as const;
const SETTINGS = { path: "/settings" } as const;

/** Compiles only where the answer is what is read there. */
const answers = <K extends JsonOperation, P extends Place>(
  operation: AnswerOf<K> extends ReadOf<P["path"]> ? K : never,
  place: P,
): [string, Place] => [operation, place];

/** Changes that answer with the whole resource as it is now. */
const ANSWERED: ReadonlyMap<string, Place> = new Map([
  answers("POST /jobs/{id}/cancel", JOB),
  answers("PATCH /jobs/{id}", JOB),
  answers("PUT /hosts/{host}", HOST),
  answers("POST /hosts/{host}/recipes", HOST),
  answers("DELETE /hosts/{host}/recipes/{index}", HOST),
  answers("PUT /hosts/{host}/login_recipe", HOST),
  answers("PUT /hosts/{host}/cookies", HOST),
  answers("PATCH /watches/{watch_id}", WATCH),
  answers("POST /workers/{id}/status", WORKER),
  answers("PUT /presets/{slug}", PRESET),
  answers("PUT /skills/{slug}", SKILL),
  answers("PUT /engines/{slug}", ENGINE),
  answers("PUT /conventions/{slug}", CONVENTION),
  answers("PUT /api/v1/workloads/{slug}", WORKLOAD),
  answers("PATCH /api/v1/workloads/{slug}/enabled", WORKLOAD),
  answers("PATCH /api/v1/workloads/{slug}/supervisor_enabled", WORKLOAD),
  answers("POST /api/v1/workloads/{slug}/versions/{version}/restore", WORKLOAD),
  answers("PATCH /settings", SETTINGS),
]);

type Item = Record<string, unknown>;

/** A list with the one that changed as it is now; any other answer as it was. */
function withChanged(known: unknown, field: string, id: string, changed: Item): unknown {
  const items = (known as Item | undefined)?.[field];
  if (!Array.isArray(items) || !items.some((one: Item) => one[id] === changed[id])) return known;
  const now = items.map((one: Item) => (one[id] === changed[id] ? changed : one));
  return { ...(known as Item), [field]: now };
}

/**
 * Puts the answer of a change where it is read, so that nothing is shown as it was before until it has been read again. A
 * read that is under way may have begun before the change: its answer is dropped.
 */
export function keepAnswer(
  client: QueryClient,
  operation: string,
  given: { params?: object } | undefined,
  answer: unknown,
): void {
  const place = ANSWERED.get(operation);
  if (place === undefined || typeof answer !== "object" || answer === null) return;
  const key = getKey(place.path, { params: given?.params } as never);
  const keep = (at: readonly unknown[], data: unknown) => {
    client.setQueryData(at, data);
    void client.cancelQueries({ queryKey: at, exact: true });
  };
  if (client.getQueryState(key) !== undefined) keep(key, answer);
  if (place.list === undefined) return;
  const { field, id } = place.list;
  for (const [at, known] of client.getQueriesData({ queryKey: [key[0]] })) {
    const now = withChanged(known, field, id, answer as Item);
    if (now !== known) keep(at, now);
  }
}
