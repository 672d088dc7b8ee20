import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type {
  HitKind,
  SearchHit,
  SearchQuery,
  SearchResult,
} from "#shared/protocol/schema/search.ts";
import { rankHits } from "./rank.ts";

/** What did not answer by then is named in the answer instead. */
const SEARCH_MS = 2_000;

/** Where hits of one kind come from. */
export type Source = (q: string, limit: number) => Promise<SearchHit[]>;

/** Asks every source at once (rules/search#time). */
export async function askSources(
  { clock, log }: { clock: Clock; log: Log },
  sources: Partial<Record<HitKind, Source>>,
  { q, limit }: SearchQuery,
): Promise<SearchResult> {
  const kinds = Object.keys(sources) as HitKind[];
  const answers = await Promise.allSettled(
    kinds.map(async (kind) =>
      withDeadline(`search of ${kind}`, SEARCH_MS, sources[kind]?.(q, limit) ?? none(), clock),
    ),
  );
  const incomplete: HitKind[] = [];
  const hits: SearchHit[] = [];
  for (const [i, answer] of answers.entries()) {
    const kind = kinds[i];
    if (answer.status === "fulfilled") hits.push(...answer.value);
    else if (kind !== undefined) {
      incomplete.push(kind);
      log.warn({ kind, err: errorMessage(answer.reason) }, "search is incomplete");
    }
  }
  return { q, hits: rankHits(hits, q, limit), incomplete };
}

const none = async (): Promise<SearchHit[]> => [];
