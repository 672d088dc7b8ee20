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

/** How a request that `Fetch` holds before it is sent is to go on. One that began too early has no network id. */
export function goingOn(
  root: CdpSession,
  { requestId, networkId, request }: Protocol.Fetch.RequestPausedEvent,
): Protocol.Fetch.ContinueRequestRequest {
  const change = networkId === undefined ? changes.get(root) : undefined;
  return change ? { requestId, headers: change(request.headers) } : { requestId };
}
