import { retryWait } from "#shared/kit/backoff.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { describeDetail, FlotillaError } from "./errors.ts";

export interface ClientOptions {
  /** Address of a hub, e.g. `http://hub:8000`. */
  base_url: string;
  /** SVC_API_TOKEN of the hub, when it has one. */
  token?: string;
  /**
   * Authority (PEM) that has signed the hub's certificate; by default those the runtime trusts. Only Bun accepts one
   * here; for Node, NODE_EXTRA_CA_CERTS names its file.
   */
  tls_ca?: string;
  /** How long a call may take unless it says otherwise; default 30,000. */
  timeout_ms?: number;
}

/** Every call takes these. */
export interface CallOptions {
  signal?: AbortSignal;
  timeout_ms?: number;
}

export type CallBody =
  | string
  | Blob
  | FormData
  | Uint8Array<ArrayBuffer>
  | ReadableStream<Uint8Array>;

interface Call extends CallOptions {
  /** Sent as JSON. */
  json?: unknown;
  /** Body that is sent as it is. */
  body?: CallBody;
  headers?: Record<string, string>;
}

export interface Http {
  readonly base_url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Options of a WebSocket to this hub. */
  readonly socket: Readonly<Record<string, unknown>>;
  readonly timeout_ms: number;
  /** The JSON of a 2xx answer. @throws FlotillaError. */
  json<T>(method: string, path: string, call?: Call): Promise<T>;
  /** A 2xx answer as it comes; the timeout covers its headers, the signal its body too. @throws FlotillaError. */
  open(method: string, path: string, call?: Call): Promise<Response>;
  /** Runs `attempt` again while it fails with 503, waiting as Retry-After says or 0.5 s doubling to 15 s. */
  whileBusy<T>(options: BusyOptions, attempt: () => Promise<T>): Promise<T>;
}

interface BusyOptions {
  /** How long to keep trying after 503; 0 throws the first one. */
  patience_ms: number;
  signal?: AbortSignal | undefined;
}

const WAIT_MS = { first: 500, most: 15_000 };
const DEFAULT_TIMEOUT_MS = 30_000;

/** The pause before try `n` (from 0) again: what the answer asks for, else doubling, half of it jitter. */
export function backoffMs(n: number, retry_after: string | null, random = Math.random): number {
  const asked = Number(retry_after ?? Number.NaN);
  if (Number.isFinite(asked) && asked >= 0) return Math.min(asked * 1_000, 60_000);
  return retryWait(n, WAIT_MS, random());
}

/** The query string of the parameters that are set. */
export function queryOf(query: object): URLSearchParams {
  const out = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== undefined) out.set(key, String(value));
  return out;
}

/** Every item of a list, page after page. */
export async function everyItem<T>(
  http: Http,
  path: string,
  name: string,
  call?: CallOptions,
  query: object = {},
): Promise<T[]> {
  const items: T[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const asked = `${path}?${queryOf({ ...query, cursor })}`;
    const page = await http.json<Record<string, unknown>>("GET", asked, call);
    items.push(...(page[name] as T[]));
    // A hub of an earlier version has one page.
    cursor = (page.next_cursor as string | null | undefined) ?? null;
  }
  return items;
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function failureOf(response: Response): Promise<FlotillaError> {
  const { status, headers } = response;
  const body = await bodyOf(response).catch(() => null);
  const detail = (body as { detail?: unknown } | null)?.detail;
  const message = describeDetail(detail) ?? `the hub answered ${status}`;
  return new FlotillaError(message, { status, detail: detail ?? message, body, headers });
}

/** For Idempotency-Key. `crypto.randomUUID` is missing on pages that were served over plain http. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

/** Whether a WebSocket can be opened with the headers of a call: Node can from version 22 on, browsers cannot. */
export const canOpenSockets = (): boolean =>
  typeof WebSocket !== "undefined" && typeof globalThis.process?.versions?.node === "string";

const isBun = (): boolean => "Bun" in globalThis;

/** @throws TypeError when base_url is not an http or https URL, or for an authority where the runtime accepts none. */
export function createHttp({ base_url, token, tls_ca, timeout_ms }: ClientOptions): Http {
  const base = new URL(base_url);
  if (!/^https?:$/.test(base.protocol)) throw new TypeError(`${base_url} is not an http address`);
  if (tls_ca !== undefined && !isBun())
    throw new TypeError("tls_ca needs Bun; for Node name its file in NODE_EXTRA_CA_CERTS");
  const url = base.href.replace(/\/+$/, "");
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const tls = tls_ca === undefined ? {} : { tls: { ca: tls_ca } };
  const usual_ms = timeout_ms ?? DEFAULT_TIMEOUT_MS;

  /** `whole`: the timeout covers the body too. */
  const request = async <T>(
    method: string,
    path: string,
    call: Call,
    read: (response: Response) => Promise<T>,
  ): Promise<T> => {
    const late = new AbortController();
    const ms = call.timeout_ms ?? usual_ms;
    const timer = setTimeout(() => late.abort(new Error(`no answer within ${ms} ms`)), ms);
    const signals = call.signal ? [late.signal, call.signal] : [late.signal];
    try {
      const response = await fetch(url + path, {
        method,
        headers: {
          ...headers,
          ...(call.json === undefined ? {} : { "content-type": "application/json" }),
          ...call.headers,
        },
        body: call.json === undefined ? (call.body ?? null) : JSON.stringify(call.json),
        // Node requires it when the body is a stream.
        ...(call.body instanceof ReadableStream && { duplex: "half" }),
        redirect: "manual",
        signal: AbortSignal.any(signals),
        ...tls,
      });
      if (!response.ok) throw await failureOf(response);
      return await read(response);
    } catch (err) {
      if (err instanceof FlotillaError) throw err;
      const cause = call.signal?.aborted ? call.signal.reason : (late.signal.reason ?? err);
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new FlotillaError(`${method} ${path.slice(0, 200)} failed: ${why}`, { cause });
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    base_url: url,
    headers,
    socket: { headers, ...tls },
    timeout_ms: usual_ms,
    json: <T>(method: string, path: string, call: Call = {}) =>
      request(method, path, call, async (response) => (await bodyOf(response)) as T),
    open: (method, path, call = {}) => request(method, path, call, async (response) => response),
    whileBusy: async ({ patience_ms, signal }, attempt) => {
      const until = systemClock.now() + patience_ms;
      for (let n = 0; ; n += 1) {
        try {
          return await attempt();
        } catch (err) {
          if (!(err instanceof FlotillaError) || err.status !== 503) throw err;
          const wait = backoffMs(n, err.headers.get("retry-after"));
          if (signal?.aborted || systemClock.now() + wait > until) throw err;
          await systemClock.sleep(wait, signal);
        }
      }
    },
  };
}
