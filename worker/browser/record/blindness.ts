import type { Activity } from "./activity.ts";
import type { Downloads } from "./downloads.ts";
import { carriesBody, hasBytes, type RequestEntry } from "./requests.ts";
import type { Tracked } from "./targets.ts";
import type { Trace } from "./trace.ts";

/**
 * Notices that a page received a body of which the recorder saw nothing; nobody should have to discover that by
 * chance.
 */
export interface Blindness {
  /** A document of a page was answered. */
  answered(entry: RequestEntry): void;
  /** Its end was reported. */
  ended(entry: RequestEntry): void;
  /** What is known when no body was seen at all; null when all is well. */
  tell(known: {
    targets: readonly Tracked[];
    activity: Activity;
    trace: Trace;
    downloads: Downloads;
  }): Record<string, unknown> | null;
}

export function watchBlindness(): Blindness {
  let documents = 0;
  let empty_documents = 0;
  return {
    answered: (entry) => {
      if (carriesBody(entry)) documents += 1;
    },
    ended: (entry) => {
      if (carriesBody(entry) && !hasBytes(entry)) empty_documents += 1;
    },
    tell: ({ targets, activity, trace, downloads }) => {
      if (documents <= empty_documents) return null;
      return {
        documents,
        empty_documents,
        requests: activity.begun,
        traced: trace.entries.length,
        downloads: downloads.count,
        targets: targets.map(({ type, is_seen, unseen, plain, page }) => ({
          type,
          url: page?.url.slice(0, 200) ?? null,
          is_seen,
          has_plain: plain !== null,
          error: unseen?.message ?? null,
        })),
      };
    },
  };
}
