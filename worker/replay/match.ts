import { stableUrl } from "#shared/archive/volatile-query.ts";
import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import type { ReplayEntry } from "#shared/protocol/schema/replay.ts";

/** A request as a browser makes it. */
interface Asked {
  method: string;
  url: string;
  /** `bodyDigest` of what was sent with it; null: nothing, or it is not known. */
  digest: string | null;
}

/** What the capture has for a request, or why it has nothing; `head`: all that it has is status and headers. */
type Found = { entry: ReplayEntry } | { reason: string; head?: ReplayEntry };

/** The answers of a capture, each request's in their order (rules/replay#matching). */
export interface Matcher {
  find(asked: Asked): Found;
  /** Whether it answers this URL for some method. */
  knows(url: string): boolean;
  /** Every request begins with its first answer again. */
  rewind(): void;
}

interface Answers {
  list: ReplayEntry[];
  next: number;
}

/** By what was sent with the request; "" for what was sent with nothing, or with what is not known. */
type ByDigest = Map<string, Answers>;

const keyOf = (method: string, url: string) => `${method} ${url}`;

/** What is worth less counts only where there is nothing better. */
function rankOf({ lacks, is_second_hand, status }: ReplayEntry): number {
  if (lacks !== undefined) return 3;
  if (status === 304) return 2;
  return is_second_hand ? 1 : 0;
}

function best(list: readonly ReplayEntry[]): ReplayEntry[] {
  const rank = Math.min(...list.map(rankOf));
  return list.filter((entry) => rankOf(entry) === rank);
}

function indexBy(
  entries: readonly ReplayEntry[],
  urlOf: (url: string) => string,
): Map<string, ByDigest> {
  const of_key = Map.groupBy(entries, ({ method, url }) => keyOf(method, urlOf(url)));
  const index = new Map<string, ByDigest>();
  for (const [key, list] of of_key) {
    const of_digest = Map.groupBy(list, ({ digest = "" }) => digest);
    const answers = [...of_digest].map(([digest, same]): [string, Answers] => [
      digest,
      { list: best(same), next: 0 },
    ]);
    index.set(key, new Map(answers));
  }
  return index;
}

/** The next answer in the order of the capture; the last one for good. */
function take(answers: Answers): ReplayEntry | undefined {
  const entry = answers.list[Math.min(answers.next, answers.list.length - 1)];
  answers.next += 1;
  return entry;
}

/** What was sent must be the same, where it is known of both. */
function answersTo(known: ByDigest, digest: string | null): Answers | undefined {
  if (digest === null) return known.get("") ?? known.values().next().value;
  return known.get(digest) ?? known.get("");
}

export function createMatcher(entries: readonly ReplayEntry[]): Matcher {
  const exact = indexBy(entries, (url) => url);
  const rough = indexBy(entries, stableUrl);
  const urls = new Set(entries.map(({ url }) => url));

  const look = (method: string, url: string, digest: string | null): Found | null => {
    const known = exact.get(keyOf(method, url)) ?? rough.get(keyOf(method, stableUrl(url)));
    if (!known) return null;
    const answers = answersTo(known, digest);
    const entry = answers && take(answers);
    if (!entry) return { reason: "the capture has this request only with another body" };
    if (entry.lacks === undefined) return { entry };
    const has_head = entry.status >= 200 && entry.status <= 599;
    return { reason: entry.lacks, ...(has_head && { head: entry }) };
  };
  return {
    find: ({ method, url, digest }) => {
      const asked = hideCredentials(url);
      const found = look(method, asked, digest);
      if (found) return found;
      // The headers of a page that was not asked for them are those of its answer.
      const of_get = method === "HEAD" ? look("GET", asked, null) : null;
      return of_get ?? { reason: "it is not in the capture" };
    },
    knows: (url) => urls.has(hideCredentials(url)),
    rewind: () => {
      for (const index of [exact, rough])
        for (const known of index.values()) for (const answers of known.values()) answers.next = 0;
    },
  };
}
