import { ConfigError } from "#shared/kit/env.ts";

/** Where the hub is, according to `HUB_URL`. */
export interface HubAddress {
  host: string;
  port: number;
  /** Base of HTTP calls, without a trailing slash. */
  http: string;
  /** Address of this worker's link (rules/worker-link#link). */
  link(worker_id: string): string;
}

const SECURE: Record<string, boolean> = {
  "ws:": false,
  "http:": false,
  "wss:": true,
  "https:": true,
};

/**
 * Reads a `HUB_URL` of any of the four schemes; a path is kept as a prefix.
 * @throws ConfigError naming HUB_URL.
 */
export function parseHubUrl(raw: string): HubAddress {
  const url = URL.canParse(raw) ? new URL(raw) : null;
  const secure = url ? SECURE[url.protocol] : undefined;
  if (!url || secure === undefined || url.hostname === "")
    throw new ConfigError(
      `HUB_URL: "${raw}" is not an address like ws://hub:8000 (ws, wss, http or https)`,
    );
  const rest = `${url.host}${url.pathname.replace(/\/+$/, "")}`;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port) || (secure ? 443 : 80),
    http: `${secure ? "https" : "http"}://${rest}`,
    link: (worker_id) => `${secure ? "wss" : "ws"}://${rest}/workers/${worker_id}/link`,
  };
}
