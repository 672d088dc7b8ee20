import { join } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";
import type { StandIn } from "#worker/egress/gate.ts";
import { partOf, responseOf } from "./answer.ts";
import { bodyDigest, MAX_DIGESTED_BYTES } from "./body-digest.ts";
import type { OwnKey } from "./certificate.ts";
import type { Matcher } from "./match.ts";
import type { Tally } from "./report.ts";
import type { BodySpool } from "./spool.ts";

export interface ReplayServerDeps {
  /** Where its two sockets are made. */
  dir: string;
  key: OwnKey;
  matcher: Matcher;
  spool: BodySpool;
  tally: Tally;
  /** Called once for each different request that was not answered. */
  onMissed(method: string, url: string, reason: string): void;
}

/** Seconds. */
const NO_LIMIT = 0;

/** Answers HTTP and HTTPS from a capture, for every host. @throws when a socket cannot be made. */
export function startReplayServer(deps: ReplayServerDeps): {
  stand_in: StandIn;
  close(): Promise<void>;
} {
  const stand_in: StandIn = { http: join(deps.dir, "http"), tls: join(deps.dir, "tls") };
  const fetch = (request: Request, server: Pick<Bun.Server<undefined>, "timeout">) => {
    // A large body comes from the hub first.
    server.timeout(request, NO_LIMIT);
    return answer(deps, request);
  };
  const error = (err: Error) => refusal(`the replay failed: ${errorMessage(err)}`);
  const common = { fetch, error, development: false } as const;
  const { key, cert } = deps.key;
  const http = Bun.serve({ ...common, unix: stand_in.http });
  const tls = Bun.serve({ ...common, unix: stand_in.tls, tls: { key, cert } });
  return {
    stand_in,
    close: async () => void (await Promise.all([http.stop(true), tls.stop(true)])),
  };
}

/**
 * What a cache answers that may ask nobody (RFC 9111, section 5.2.1.7). It allows no other origin to read it, so that
 * a request across origins fails as it does without a network.
 */
const refusal = (text: string): Response =>
  new Response(`${text}\n`, { status: 504, headers: { "content-type": "text/plain" } });

async function answer(deps: ReplayServerDeps, request: Request): Promise<Response> {
  const { method, url, headers } = request;
  const miss = (reason: string): Response => {
    if (isOfBrowser(request)) return refusal("nothing leaves the machine");
    if (deps.tally.missed(method, url, reason)) deps.onMissed(method, url, reason);
    return refusal(`${url} has no answer in this replay: ${reason}.`);
  };
  if (headers.get("upgrade") !== null) return miss("WebSockets are not replayed");
  const digest = await digestOf(request);
  const found = deps.matcher.find({ method, url, digest });
  if ("reason" in found && isPreflight(request) && deps.matcher.knows(url))
    return preflight(request);
  if ("reason" in found) {
    const { head } = found;
    if (!head || !isFetched(request)) return miss(found.reason);
    miss(found.reason);
    return responseOf(head, { path: null, part: "whole" });
  }
  const { entry } = found;
  if (entry.status === 304 && !isConditional(headers))
    return miss("the browser had it already when the page was captured");
  const part = entry.body ? partOf(entry.body, headers.get("range")) : "whole";
  if (part === "lacking") return miss("the capture does not have this part of it");
  let path: string | null = null;
  try {
    if (entry.body) path = await deps.spool.fileOf(entry.body.name, entry.body.size);
  } catch (err) {
    return miss(`its body could not be read: ${errorMessage(err)}`);
  }
  deps.tally.answered();
  return responseOf(entry, { path, part });
}

/**
 * What Chromium wants to know for itself, of accounts and updates: no page has asked for it. Only over HTTPS it says
 * so; what it asks without is protected by its Client Update Protocol.
 */
function isOfBrowser({ url, headers }: Request): boolean {
  if (/[?&]cup2key=/.test(url)) return true;
  const about = ["site", "mode", "dest"].map((what) => headers.get(`sec-fetch-${what}`));
  return about.join(" ") === "none no-cors empty";
}

/**
 * What a script fetches it may read or not: for many of them the status is enough. Over HTTP to other machines Chromium
 * does not say what asks; nothing but a script sends these methods.
 */
function isFetched({ method, headers }: Request): boolean {
  if (headers.get("upgrade-insecure-requests") !== null) return false;
  const dest = headers.get("sec-fetch-dest");
  return dest === null ? !["GET", "HEAD"].includes(method) : dest === "empty";
}

const isConditional = (headers: Headers): boolean =>
  headers.has("if-none-match") || headers.has("if-modified-since");

const isPreflight = ({ method, headers }: Request): boolean =>
  method === "OPTIONS" && headers.has("access-control-request-method");

/**
 * Chromium asks once and remembers, so a capture may lack the question although it has what was asked for afterwards:
 * the answer to that says whether the page may read it.
 */
function preflight({ headers }: Request): Response {
  const asked_headers = headers.get("access-control-request-headers");
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": headers.get("origin") ?? "*",
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": headers.get("access-control-request-method") ?? "*",
      ...(asked_headers !== null && { "access-control-allow-headers": asked_headers }),
    },
  });
}

/** Of what was sent; null: nothing, or more than the capture knows of. */
async function digestOf(request: Request): Promise<string | null> {
  if (!request.body) return null;
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body) {
    size += part.byteLength;
    if (size <= MAX_DIGESTED_BYTES) parts.push(part);
  }
  if (size === 0 || size > MAX_DIGESTED_BYTES) return null;
  return bodyDigest(Buffer.concat(parts), request.headers.get("content-type") ?? "");
}
