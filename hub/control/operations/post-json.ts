import { lookup } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { canonicalAddress, classifyAddress, isMetadataHost } from "#shared/addresses.ts";

/** An address nobody may be sent to by this program (design/architecture.md §7). */
export class RefusedAddress extends Error {
  constructor(what: string) {
    super(`${what} is a cloud metadata or link-local address`);
    this.name = "RefusedAddress";
  }
}

export interface PostJson {
  url: string;
  headers: Record<string, string>;
  body: unknown;
  /** Ends the call; what it was aborted with is what is thrown. */
  signal: AbortSignal;
  max_bytes: number;
  /** For tests: what names mean; the system's resolver by default. */
  resolve?: (name: string) => Promise<{ address: string; family: number }[]>;
}

const isRefused = (address: string): boolean =>
  ["metadata", "link_local"].includes(classifyAddress(address) ?? "");

/** @throws RefusedAddress for a host that need not be asked for its address */
function refuseHost(host: string): void {
  if (isMetadataHost(host) || isRefused(host)) throw new RefusedAddress(host);
}

/**
 * Posts JSON and gives back what is answered, as it is; a redirect is an answer too. The address that is refused is the one
 * connected to, so a name that resolves differently the second time opens nothing.
 * @throws RefusedAddress, RangeError when the answer is longer than `max_bytes`, or what the network threw
 */
export function postJson({
  url: raw,
  headers,
  body,
  signal,
  max_bytes,
  resolve = (name) => lookup(name, { all: true }),
}: PostJson): Promise<{ status: number; text: string }> {
  const url = new URL(raw);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  refuseHost(host);
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
              const refused = addresses.find(({ address }) => isRefused(address));
              if (!refused) return found(null, addresses);
              found(new RefusedAddress(`${name} (${canonicalAddress(refused.address)})`), []);
            },
            (err) => found(err, []),
          );
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size <= max_bytes) return void chunks.push(chunk);
          request.destroy();
          failed(new RangeError(`the answer is longer than ${max_bytes} bytes`));
        });
        response.on("error", failed);
        response.on("end", () =>
          done({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
        );
      },
    );
    request.on("error", (err) => failed(signal.aborted ? signal.reason : err));
    request.end(JSON.stringify(body));
  });
}
