import type { LossReason } from "./ledger.ts";
import { carriesBody, declaredLength, type RequestEntry } from "./requests.ts";

/**
 * What becomes of the body of a request that failed. `read`: try to read it; `reason` is null when a missing body is
 * no loss. `download`: it may turn out to be one, otherwise it is lost. `none`: it has no body.
 */
export type Failure =
  | { kind: "none" }
  | { kind: "lost"; reason: LossReason }
  | { kind: "read"; reason: LossReason | null }
  | { kind: "download"; reason: LossReason };

/** @param canceled whether the page or Blink cancelled it, not the network */
export function judgeFailure(
  entry: RequestEntry,
  { canceled, gone }: { canceled: boolean; gone: boolean },
): Failure {
  if (!carriesBody(entry)) return { kind: "none" };
  if (entry.refused) return { kind: "lost", reason: "protected" };
  const promised = declaredLength(entry.headers) !== 0;
  // The headers arrived, and the network process withholds the body from the page and from us (CORS, ORB).
  if (entry.response === null)
    return promised && !canceled ? { kind: "lost", reason: "protected" } : { kind: "none" };
  const reason: LossReason = gone ? "target_gone" : "aborted";
  const is_error = entry.response.status >= 400;
  if (entry.type === "Document" && canceled && !is_error) return { kind: "download", reason };
  if (entry.received > 0) return { kind: "read", reason };
  if (!promised || entry.type === "Media") return { kind: "none" };
  // Blink gives up scripts, styles and fonts at an error status; the network still has their bodies. A request that
  // the page gave up before its first byte has lost nothing.
  return { kind: "read", reason: canceled && !is_error ? null : reason };
}
