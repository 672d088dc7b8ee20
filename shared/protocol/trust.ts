import { readFileSync } from "node:fs";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";

/**
 * Which hubs this process trusts. Every connection to a hub or a control plane is opened here, so that one variable
 * decides for all of them; what a connection has no options for follows the runtime (NODE_EXTRA_CA_CERTS).
 */

const CERTIFICATE = /-----BEGIN (TRUSTED )?CERTIFICATE-----/;

/** PEM; null: the authorities the runtime trusts. */
let authority: string | null = null;

/**
 * From now on only hubs whose certificate the authority in `path` (PEM) has signed are trusted; null: as the runtime
 * decides. A connection that is already open stays open. @throws ConfigError naming SVC_TLS_CA.
 */
export function trustAuthority(path: string | null): void {
  authority = path === null ? null : readAuthority(path);
}

function readAuthority(path: string): string {
  let pem: string;
  try {
    pem = readFileSync(path, "utf8");
  } catch (err) {
    throw new ConfigError(`SVC_TLS_CA: cannot read ${path}: ${errorMessage(err)}`);
  }
  if (!CERTIFICATE.test(pem))
    throw new ConfigError(`SVC_TLS_CA: ${path} contains no certificate (PEM)`);
  return pem;
}

/** The same for the client library, which is given it as an option. */
export const authorityOption = (): { tls_ca?: string } =>
  authority === null ? {} : { tls_ca: authority };

/** Options of a connection to a hub, whatever opens it. */
export const hubTls = (): { tls?: { ca: string } } =>
  authority === null ? {} : { tls: { ca: authority } };

/** `fetch` of something that a hub or a control plane serves. */
export const fetchHub = (url: string, init: BunFetchRequestInit = {}): Promise<Response> =>
  fetch(url, { ...init, ...hubTls() });

/** A WebSocket of a hub. */
export const openHubSocket = (url: string, headers: Record<string, string> = {}): WebSocket =>
  new WebSocket(url, { headers, ...hubTls() } as Bun.WebSocketOptions);
