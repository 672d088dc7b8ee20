import { errorMessage } from "#shared/kit/errors.ts";
import { tlsTrouble } from "#shared/protocol/tls-trouble.ts";
import { fetchHub } from "#shared/protocol/trust.ts";
import { UsageError } from "./exit.ts";

/** A server that expects TLS silently closes anything else. */
const whyNot = (hub: string, cause: unknown): string => {
  const closed = cause instanceof Error && "code" in cause && cause.code === "ECONNRESET";
  const hint = closed && hub.startsWith("http:") ? " (does it speak https:// instead?)" : "";
  return errorMessage(cause) + hint;
};

/** The hub did not answer at all; exit code 3. */
export class HubUnreachable extends Error {
  constructor(hub: string, cause: unknown) {
    super(`hub ${hub} is not reachable: ${tlsTrouble(cause) ?? whyNot(hub, cause)}`);
    this.name = "HubUnreachable";
  }
}

export interface HubAnswer {
  status: number;
  body: unknown;
}

export interface HubClient {
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly headers: Record<string, string>;
  /** One JSON call. @throws HubUnreachable when no answer came within `timeout_ms` (30 s). */
  call(
    method: string,
    path: string,
    body?: unknown,
    timeout_ms?: number,
    headers?: Record<string, string>,
  ): Promise<HubAnswer>;
  /** A streamed body, for downloads. */
  open(path: string, signal: AbortSignal): Promise<Response>;
  /** The same address for a WebSocket. */
  socketUrl(path: string): string;
}

/** @throws UsageError when `address` is not an http(s) or ws(s) URL. */
export function createHubClient(address: string, token: string | undefined): HubClient {
  const spelled = address.includes("://") ? address : `http://${address}`;
  const parsed = URL.canParse(spelled) ? new URL(spelled) : null;
  if (!parsed || !/^(https?|wss?):$/.test(parsed.protocol))
    throw new UsageError(`SVC_HUB: "${address}" is not an http address`);
  parsed.protocol = parsed.protocol.replace("ws", "http");
  const url = parsed.href.replace(/\/+$/, "");
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const request = async (path: string, init: RequestInit): Promise<Response> => {
    try {
      return await fetchHub(url + path, { ...init, headers: { ...headers, ...init.headers } });
    } catch (err) {
      throw new HubUnreachable(url, err);
    }
  };
  return {
    url,
    headers,
    call: async (method, path, body, timeout_ms = 30_000, more = {}) => {
      const response = await request(path, {
        method,
        signal: AbortSignal.timeout(timeout_ms),
        ...(body === undefined
          ? { headers: more }
          : {
              body: JSON.stringify(body),
              headers: { "content-type": "application/json", ...more },
            }),
      });
      const text = await response.text().catch((err) => {
        throw new HubUnreachable(url, err);
      });
      try {
        return { status: response.status, body: text === "" ? null : JSON.parse(text) };
      } catch {
        return { status: response.status, body: { detail: `not JSON: ${text.slice(0, 200)}` } };
      }
    },
    open: (path, signal) => request(path, { signal }),
    socketUrl: (path) => url.replace(/^http/, "ws") + path,
  };
}

/** One line for an error answer: `detail` as text, or each issue as `body.url: must be …`. */
export function describeError(answer: HubAnswer): string {
  const detail = (answer.body as { detail?: unknown } | null)?.detail;
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail))
    return detail
      .map((issue: { loc?: unknown[]; msg?: unknown }) => {
        const path = (issue.loc ?? []).filter((part) => part !== "body").join(".");
        return `${path === "" ? "" : `${path}: `}${String(issue.msg)}`;
      })
      .join("; ");
  return `the hub answered ${answer.status}`;
}
