import type { Operations } from "./operations.gen.ts";

/** A method and a path, as the API's routes are defined: `GET /jobs/{id}`. */
export type Operation = keyof Operations;

/** The JSON of its success. */
export type AnswerOf<K extends Operation> = Operations[K]["answer"];

/** Operations that answer with JSON, or with nothing. */
export type JsonOperation = {
  [K in Operation]: [AnswerOf<K>] extends [never] ? never : K;
}[Operation];

/** Lists that are read page by page. */
export type PagedOperation = {
  [K in JsonOperation]: Operations[K] extends { query?: { cursor?: string } } ? K : never;
}[JsonOperation];

/** What its route takes: `params` of its path, `query`, and `json` or `body`. */
export type GivenTo<K extends Operation> = Omit<Operations[K], "answer" | "refusals">;

/** What its address takes: `params` of its path, and `query`. */
export type PlaceOf<K extends Operation> = Omit<GivenTo<K>, "json" | "body">;

/** The argument after an operation; it may be left out if nothing in it is required. */
export type Args<C> = Record<never, never> extends C ? [given?: C] : [given: C];

type Values = Readonly<Record<string, unknown>>;

export const methodOf = (operation: Operation): string =>
  operation.slice(0, operation.indexOf(" "));

/** Its path with parameters and query filled in: values that are undefined, null or "" are left out, a list is repeated. */
export function pathOf<K extends Operation>(operation: K, ...[given]: Args<PlaceOf<K>>): string {
  const { params = {}, query = {} } = (given ?? {}) as { params?: Values; query?: Values };
  const path = operation
    .slice(operation.indexOf(" ") + 1)
    .replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat())
      if (one !== undefined && one !== null && one !== "") asked.append(name, String(one));
  return asked.size === 0 ? path : `${path}?${asked}`;
}
