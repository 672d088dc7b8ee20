import { sourceOf } from "./bodies.ts";
import type { Ledger } from "./ledger.ts";
import {
  carriesBody,
  declaredLength,
  progressOf,
  type RequestEntry,
  type RequestTable,
} from "./requests.ts";
import { isEndless } from "./streams.ts";

/** URLs of requests that had no answer when the job ended: whether there is a body for them, nobody knows. */
export interface Unanswered {
  /** They waited in the browser still. */
  unsent: string[];
  /** Chromium tells nothing of an answer either while it asks somebody for a password. */
  sent: string[];
}

/** Nobody reads what these are answered. */
const UNREAD_TYPES = ["Preflight", "Ping", "CSPViolationReport"];

/** Takes out what has no end when the job ends: what was answered is lost, what was not is named. */
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
  // Only the network has told the answer: its page was too busy to take it.
  if (entry.response === null) return declared !== 0;
  // Told to come, and held back by a page that does not read it, or by its server; or a document of which no more was told.
  return entry.received > 0 || (declared ?? 0) > 0 || entry.type === "Document";
}
