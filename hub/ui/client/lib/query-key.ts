import {
  type AnswerOf,
  type Args,
  type JsonOperation,
  type Operation,
  pathOf,
} from "#shared/client/operation.ts";
import type { Read } from "./http.ts";

/** Paths of what can be read: `/jobs/{id}` for `GET /jobs/{id}`. */
export type PathOf<K> = K extends `GET ${infer P}` ? P : never;
export type JsonPath = PathOf<JsonOperation>;
export type ReadOf<P extends JsonPath> = AnswerOf<`GET ${P}`>;

/** What changes it: the first part of a path, `v1/` before those of the control plane (hub/platform/changes.ts). */
function topicOf(path: string): string {
  const [, prefix, resource = ""] = /^\/(api\/v1\/)?([a-z-]*)/.exec(path) ?? [];
  return `${prefix === undefined ? "" : "v1/"}${resource}`;
}

/** The key of what is read; its first part is the topic of its changes. */
export function getKey<P extends PathOf<Operation>>(
  path: P,
  ...given: Args<Read<`GET ${P}`>>
): readonly [topic: string, address: string] {
  const address = pathOf(`GET ${path}` as Operation, given[0] as never);
  return [topicOf(address), address];
}
