import { lookup } from "node:dns/promises";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { canonicalAddress, isRefusedHost } from "./addresses.ts";

/** An address that this program must never connect to (rules/pipeline-operations#engine-test). */
export class RefusedAddress extends Error {
  constructor(what: string) {
    super(`${what} is a cloud metadata or link-local address`);
    this.name = "RefusedAddress";
  }
}

export interface GuardedPost {
  url: string;
  headers: Record<string, string>;
  /** Sent as JSON. */
  body: unknown;
  /** Ends the call, even while the answer is being read. Before the answer's head, the call throws the abort reason. */
  signal: AbortSignal;
  /** For tests: how names resolve; the system's resolver by default. */
  resolve?: (name: string) => Promise<{ address: string; family: number }[]>;
}

/**
 * Posts JSON to an address that an operator chose, and returns the answer once its head has come; a redirect is an
 * answer too. The check judges the address that is connected to, so a name that resolves differently the second time
 * gains nothing. The caller reads the body or destroys it.
 * @throws RefusedAddress, or what the network threw
 */
export function guardedPost({
  url: raw,
  headers,
  body,
  signal,
  resolve = (name) => lookup(name, { all: true }),
}: GuardedPost): Promise<IncomingMessage> {
  const url = new URL(raw);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isRefusedHost(host)) throw new RefusedAddress(host);
  const send = url.protocol === "https:" ? https.request : http.request;
  return new Promise((done, failed) => {
    const request = send(
      url,
      {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json", ...headers },
        agent: false,
        signal,
        lookup: (name, _options, found) => {
          resolve(name).then(
            (addresses) => {
              const refused = addresses.find(({ address }) => isRefusedHost(address));
              if (!refused) return found(null, addresses);
              found(new RefusedAddress(`${name} (${canonicalAddress(refused.address)})`), []);
            },
            (err) => found(err, []),
          );
        },
      },
      done,
    );
    request.on("error", (err) => failed(signal.aborted ? signal.reason : err));
    request.end(JSON.stringify(body));
  });
}
