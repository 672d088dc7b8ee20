import type { Har, HarEntry } from "#shared/protocol/schema/har.ts";

/** Requests of a session up to a moment of its recording, in the order in which they began. */
export interface NotedRequests {
  entries: readonly HarEntry[];
  ms: number;
}

export const NO_REQUESTS: NotedRequests = { entries: [], ms: -1 };

const numberOf = ({ _n }: HarEntry): number => _n ?? 0;

/** Adds what was noted since: what is known of a request now stands for what was known before. */
export function mergeRequests({ entries, ms }: NotedRequests, { log }: Har): NotedRequests {
  const by_n = new Map(entries.map((entry) => [numberOf(entry), entry]));
  for (const entry of log.entries) by_n.set(numberOf(entry), entry);
  return {
    entries: [...by_n.values()].sort((a, b) => numberOf(a) - numberOf(b)),
    ms: Math.max(ms, log._ms ?? -1),
  };
}

/** A request as a line of the player. */
export function requestLine(entry: HarEntry) {
  const { request, response, _unfinished, _error } = entry;
  const without = _unfinished === true ? "open" : "failed";
  const failed = response.status >= 400 || (response.status === 0 && without === "failed");
  const cut_off = response.status !== 0 && _error !== undefined;
  return {
    name: response.status === 0 ? without : String(response.status),
    text: `${request.method === "GET" ? "" : `${request.method} `}${request.url}`,
    level: failed || cut_off ? "error" : "info",
  };
}
