import type { Protocol } from "../cdp/connection.ts";
import type { RequestEntry } from "./requests.ts";

type RawAnswer = Protocol.Network.ResponseReceivedExtraInfoEvent;

/**
 * The requests of a whole browser that have not ended, by their ids: a frame in another process begins on one session
 * and ends on another. Raw headers may be reported before the request itself is; they wait here.
 */
export interface RequestTable {
  get(id: string): RequestEntry | null;
  open(): RequestEntry[];
  add(entry: RequestEntry): void;
  /** Removes and returns an entry that has ended, or whose end will not come; null when it was removed before. */
  take(id: string): RequestEntry | null;
  /** The headers of this request have been sent. */
  noteSent(id: string): void;
  /** An answer whose request was not reported yet. */
  keepAnswer(answer: RawAnswer): void;
  /** The answer that came before its request was reported. */
  answerOf(id: string): RawAnswer | undefined;
}

export function createRequestTable(): RequestTable {
  const entries = new Map<string, RequestEntry>();
  const early_answers = new Map<string, RawAnswer>();
  const early_sent = new Set<string>();
  return {
    get: (id) => entries.get(id) ?? null,
    open: () => [...entries.values()],
    add: (entry) => {
      entry.sent = early_sent.delete(entry.id);
      entries.set(entry.id, entry);
    },
    take: (id) => {
      const entry = entries.get(id) ?? null;
      entries.delete(id);
      early_answers.delete(id);
      return entry;
    },
    noteSent: (id) => {
      const entry = entries.get(id);
      if (entry) entry.sent = true;
      else early_sent.add(id);
    },
    keepAnswer: (answer) => void early_answers.set(answer.requestId, answer),
    answerOf: (id) => early_answers.get(id),
  };
}
