import { sourceOf } from "./body-source.ts";
import type { Ledger } from "./ledger.ts";
import type { RequestTable } from "./request-table.ts";
import { carriesBody, declaredLength, progressOf, type RequestEntry } from "./requests.ts";
import { isEndless } from "./streams.ts";

/** URLs of requests that had no answer when the job ended: nobody knows whether they have a body. */
export interface Unanswered {
  /** They were still waiting in the browser. */
  unsent: string[];
  /** Chromium also reports no answer while it asks somebody for a password. */
  sent: string[];
}

/** Nobody reads the answers to these. */
const UNREAD_TYPES = ["Preflight", "Ping", "CSPViolationReport"];

/** Closes requests without an end when the job ends: those that were answered are lost, the others are named. */
export function closeOpen(
  table: Pick<RequestTable, "open" | "take">,
  isWanted: (entry: RequestEntry) => boolean,
  ledger: Pick<Ledger, "lost">,
): Unanswered {
  const without: Unanswered = { unsent: [], sent: [] };
  for (const entry of table.open()) {
    table.take(entry.id);
    if (!isWanted(entry)) continue;
    const progress = progressOf(entry);
    const is_missed = !isEndless(entry) && !UNREAD_TYPES.includes(entry.type);
    if (progress === "answered" && hasBody(entry))
      ledger.lost(sourceOf(entry), entry.untouched ? "unread" : "timeout");
    if (progress !== "answered" && is_missed && entry.method !== "HEAD")
      without[progress].push(entry.url);
  }
  return without;
}

function hasBody(entry: RequestEntry): boolean {
  if (!carriesBody(entry)) return false;
  const declared = declaredLength(entry.headers);
  // Only the network has reported the answer: its page was too busy to take it.
  if (entry.response === null) return declared !== 0;
  // A body was announced, but held back by a page that does not read it, or by its server; or it is a document about
  // which nothing more was reported.
  return entry.received > 0 || (declared ?? 0) > 0 || entry.type === "Document";
}
