import type { CdpSession, Protocol } from "./connection.ts";

/** What a request has as headers, as names with values. */
type Sent = Protocol.Network.Headers;

const changes = new WeakMap<CdpSession, (sent: Sent) => Protocol.Fetch.HeaderEntry[]>();

/**
 * A window with an opener runs before its session can be told anything, so the request for its document may have begun
 * without the headers that its options ask for. `change` puts them in. `root`: the browser itself.
 */
export function changeLateHeaders(
  root: CdpSession,
  change: (sent: Sent) => Protocol.Fetch.HeaderEntry[],
): void {
  changes.set(root, change);
}

/**
 * How a request that `Fetch` holds before it is sent is to go on. One without a network id began too early; one with
 * an id may have, while its session was being told.
 */
export function goingOn(
  root: CdpSession,
  { requestId, networkId, request }: Protocol.Fetch.RequestPausedEvent,
  began_early = networkId === undefined,
): Protocol.Fetch.ContinueRequestRequest {
  const change = began_early ? changes.get(root) : undefined;
  return change ? { requestId, headers: change(request.headers) } : { requestId };
}
