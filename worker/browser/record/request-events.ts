import type { Clock } from "#shared/kit/clock.ts";
import type { Protocol } from "../cdp/connection.ts";
import type { Activity } from "./activity.ts";
import type { BodyQueue } from "./body-queue.ts";
import { sourceOf } from "./body-source.ts";
import type { Documents } from "./documents.ts";
import { judgeFailure } from "./failed.ts";
import type { Gaps } from "./gaps.ts";
import type { Ledger } from "./ledger.ts";
import type { RequestTable } from "./request-table.ts";
import type { RequestEvents } from "./request-watch.ts";
import { carriesBody, type RequestEntry } from "./requests.ts";
import { isEndless, needsTail, outgrows, type Streams } from "./streams.ts";
import { isUntouched, mayStayAway } from "./untouched.ts";
import type { Wanted } from "./wanted.ts";

/** Which answers must not be kept. */
export interface RefusalRules {
  /** Whether the gate let nothing out for this URL; asked once it failed. */
  isHeldBack(error_text: string, url: string, document: boolean): boolean;
  /** Whether a response from this address must not be kept; null where a gate has judged it already. */
  isRefused: ((address: string, port: number, url: string, document: boolean) => boolean) | null;
}

export interface RequestEventsDeps {
  table: RequestTable;
  activity: Activity;
  ledger: Ledger;
  documents: Documents;
  wanted: Wanted;
  bodies: BodyQueue;
  streams: Streams;
  gaps: Gaps;
  rules: RefusalRules;
  clock: Clock;
}

/** What each event of a request means for the job: what it waits for, what is read, and what is lost. */
export function createRequestEvents(deps: RequestEventsDeps): RequestEvents {
  const { activity, ledger, documents, wanted, bodies } = deps;
  const { isHeldBack, isRefused } = deps.rules;

  const checkAddress = (entry: RequestEntry, response: Protocol.Network.Response) => {
    const { remoteIPAddress: address, remotePort: port } = response;
    if (!isRefused || !address || !port) return;
    if (isRefused(address, port, response.url, entry.type === "Document")) entry.refused = true;
  };
  const follow = (entry: RequestEntry) => {
    entry.handled = true;
    const { plain, session } = entry.target;
    deps.streams.follow(entry, plain ? [plain, session] : [session]);
  };
  return {
    onRequest: (entry, is_hop) => {
      if (!is_hop) wanted.judge(entry);
      if (!entry.late) activity.begin(entry.id);
      if (entry.type !== "Document") return;
      // The page navigates away: what it has loaded is read before it is gone.
      if (entry.target.type === "page") bodies.release();
      documents.requested(entry);
    },
    onRedirect: checkAddress,
    onResponse: (entry) => {
      activity.progress(entry.id);
      const response = entry.response;
      if (!response) return;
      checkAddress(entry, response);
      if (entry.type === "Document") documents.answered(entry, response);
      if (isEndless(entry)) activity.ignore(entry.id);
      else if (mayStayAway(entry)) void settleUntouched(entry, deps);
      if (wanted.has(entry) && !entry.refused && needsTail(entry)) follow(entry);
    },
    onData: (entry) => {
      if (entry.untouched) {
        // Its page reads it now, or its server took its time.
        entry.untouched = false;
        activity.resume(entry.id);
      }
      activity.progress(entry.id);
      if (entry.handled) return;
      if (wanted.has(entry) && !entry.refused && outgrows(entry)) return follow(entry);
      bodies.heard(entry);
    },
    onFinished: (entry, by) => {
      activity.end(entry.id);
      documents.ended(entry);
      if (!wanted.has(entry) || !carriesBody(entry)) return;
      if (entry.refused) return ledger.lost(sourceOf(entry), "protected");
      bodies.ended(entry, by);
    },
    onOrphan: (entry) => {
      activity.end(entry.id);
      if (wanted.has(entry) && !entry.refused && carriesBody(entry)) bodies.orphaned(entry);
    },
    onFailed: (entry, by, error, canceled) => {
      activity.end(entry.id);
      if (isHeldBack(error, entry.url, entry.type === "Document")) {
        entry.refused = true;
        if (wanted.has(entry)) ledger.lost(sourceOf(entry), "protected");
        return;
      }
      if (!wanted.has(entry)) return;
      const failure = judgeFailure(entry, { canceled, gone: by.session.is_closed });
      const { kind } = failure;
      if (kind === "lost") ledger.lost(sourceOf(entry), failure.reason);
      if (kind === "download") deps.gaps.aborted(entry, failure.reason);
      if (kind === "read") bodies.brokeOff(entry, by, failure.reason);
    },
  };
}

/** A page that does not read this answer must not keep its job waiting. */
async function settleUntouched(
  entry: RequestEntry,
  { table, clock, activity }: Pick<RequestEventsDeps, "table" | "clock" | "activity">,
): Promise<void> {
  const isOpen = () => table.get(entry.id) === entry && !entry.handled;
  entry.untouched = await isUntouched(entry, clock, isOpen);
  if (entry.untouched) activity.settle(entry.id);
}
