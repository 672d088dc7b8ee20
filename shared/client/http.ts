import { systemClock } from "#shared/kit/clock.ts";
import type { CallBody } from "./body.ts";
import { describeDetail, FlotillaError } from "./errors.ts";
import {
  type AnswerOf,
  type Args,
  type GivenTo,
  type JsonOperation,
  methodOf,
  type Operation,
  type PagedOperation,
  type PlaceOf,
  pathOf,
} from "./operation.ts";

export interface ClientOptions {
  /** Address of a hub, e.g. `http://hub:8000`. */
  base_url: string;
  /** SVC_API_TOKEN of the hub, when it has one. */
  token?: string;
  /**
   * Authority (PEM) that signed the hub's certificate; by default those the runtime trusts. Only Bun accepts one
   * here; for Node, NODE_EXTRA_CA_CERTS names its file.
   */
  tls_ca?: string;
  /** How long a call may take unless it says otherwise; default 30,000. */
  timeout_ms?: number;
}

/** For the programs in this repository. */
export interface HttpOptions extends ClientOptions {
  /** Sent with every call. */
  headers?: Readonly<Record<string, string>>;
  /** Decides when a call is late. */
  clock?: { sleep(ms: number, signal?: AbortSignal): Promise<void> };
  /** Sends every call; the runtime's own by default. */
  fetch?: (address: string, init: RequestInit) => Promise<Response>;
}

/** Every call takes these. */
export interface CallOptions {
  signal?: AbortSignal;
  timeout_ms?: number;
}

/** Arguments of a call: how it is made, and what its route takes. */
export type CallOf<K extends Operation> = CallOptions & {
  headers?: Readonly<Record<string, string>>;
} & GivenTo<K>;

/** The one way to call a hub: the routes define what each operation takes and answers. */
export interface Http {
  readonly base_url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Options of a WebSocket to this hub. */
  readonly socket: Readonly<Record<string, unknown>>;
  readonly timeout_ms: number;
  /** The JSON of a 2xx answer, null if it has none. @throws FlotillaError */
  call<K extends JsonOperation>(operation: K, ...given: Args<CallOf<K>>): Promise<AnswerOf<K>>;
  /**
   * A 2xx answer whose body is not read; the timeout covers its headers, the signal also its body. @throws
   * FlotillaError
   */
  open<K extends Operation>(operation: K, ...given: Args<CallOf<K>>): Promise<Response>;
  /** The address of a WebSocket. */
  socketUrl<K extends Operation>(operation: K, ...given: Args<PlaceOf<K>>): string;
}

/** The same where the operation's type is no longer known. */
interface Call extends CallOptions {
  headers?: Readonly<Record<string, string>>;
  json?: unknown;
  body?: CallBody;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Every item of a list, page after page. */
export async function everyItem<K extends PagedOperation, N extends keyof AnswerOf<K>>(
  { call: typed }: Pick<Http, "call">,
  operation: K,
  name: N,
  { query, ...call }: Omit<CallOf<K>, "query"> & { query?: object } = {} as CallOf<K>,
): Promise<AnswerOf<K>[N]> {
  // This works for any list, so its type cannot be followed.
  const read = typed as unknown as (operation: K, call: object) => Promise<AnswerOf<K>>;
  const items: unknown[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await read(operation, { ...call, query: { ...query, cursor } });
    items.push(...(page[name] as unknown[]));
    // Hubs of earlier versions answer with a single page.
    cursor = (page as { next_cursor?: string | null }).next_cursor ?? null;
  }
  return items as AnswerOf<K>[N];
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

/** The body of a success, which is JSON or empty: a router's page is neither. @throws FlotillaError */
async function jsonOf(response: Response): Promise<unknown> {
  const body = await response.text();
  if (body === "") return null;
  try {
    return JSON.parse(body);
  } catch {
    const { status, headers } = response;
    throw new FlotillaError(`the answer is not JSON: ${body.slice(0, 200)}`, {
      status,
      body,
      headers,
    });
  }
}

/** What an answer that is no success says. */
export function failureOf(status: number, body: unknown, headers = new Headers()): FlotillaError {
  const detail = (body as { detail?: unknown } | null)?.detail;
  const message = describeDetail(detail) ?? `the hub answered ${status}`;
  return new FlotillaError(message, { status, detail: detail ?? message, body, headers });
}

/** For Idempotency-Key. `crypto.randomUUID` is missing on pages that were served over plain http. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

/** What browsers do not have. */
interface Runtime {
  process: { versions?: { node?: unknown } };
}

/** Whether a WebSocket can be opened with the headers of a call: Node can from version 22 on, browsers cannot. */
export const canOpenSockets = (): boolean =>
  typeof WebSocket !== "undefined" &&
  typeof (globalThis as Partial<Runtime>).process?.versions?.node === "string";

const isBun = (): boolean => "Bun" in globalThis;

interface Sender {
  url: string;
  headers: Readonly<Record<string, string>>;
  tls: { tls?: { ca: string } };
  usual_ms: number;
  clock: NonNullable<HttpOptions["clock"]>;
  send: NonNullable<HttpOptions["fetch"]>;
}

/** Sends one call; the deadline covers what `read` does, `signal` its body too. */
function requester({ url, headers, tls, usual_ms, clock, send }: Sender) {
  return async <T>(
    operation: Operation,
    call: Call,
    read: (response: Response) => Promise<T>,
  ): Promise<T> => {
    const [method, path] = [methodOf(operation), pathOf(operation, call as never)];
    const { signal, timeout_ms: ms = usual_ms } = call;
    const over = new AbortController();
    const answered = new AbortController();
    const stop = () => over.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    void clock.sleep(ms, answered.signal).then(() => {
      // Named as AbortSignal.timeout() does, so that who sends the call can tell it from one that was given up.
      const late = () => new DOMException(`no answer within ${ms} ms`, "TimeoutError");
      if (!answered.signal.aborted) over.abort(late());
    });
    // One that lives as long as the program would gather the listeners of all calls; a body that is still read needs its own.
    const letGo = () => signal?.removeEventListener("abort", stop);
    try {
      const response = await send(url + path, {
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
        signal: over.signal,
        ...tls,
      });
      if (!response.ok)
        throw failureOf(
          response.status,
          await bodyOf(response).catch(() => null),
          response.headers,
        );
      const result = await read(response);
      if (response.bodyUsed || response.body === null) letGo();
      return result;
    } catch (err) {
      letGo();
      if (err instanceof FlotillaError) throw err;
      const cause = over.signal.reason ?? err;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new FlotillaError(`${method} ${path.slice(0, 200)} failed: ${why}`, { cause });
    } finally {
      answered.abort();
    }
  };
}

/** @throws TypeError when base_url is not an http or https URL, or for an authority if the runtime accepts none. */
export function createHttp(options: HttpOptions): Http {
  const { base_url, token, tls_ca, timeout_ms, clock = systemClock, fetch: send = fetch } = options;
  const base = new URL(base_url);
  if (!/^https?:$/.test(base.protocol)) throw new TypeError(`${base_url} is not an http address`);
  if (tls_ca !== undefined && !isBun())
    throw new TypeError("tls_ca needs Bun; for Node name its file in NODE_EXTRA_CA_CERTS");
  const url = base.href.replace(/\/+$/, "");
  const headers: Record<string, string> = {
    ...options.headers,
    ...(token && { authorization: `Bearer ${token}` }),
  };
  const tls = tls_ca === undefined ? {} : { tls: { ca: tls_ca } };
  const usual_ms = timeout_ms ?? DEFAULT_TIMEOUT_MS;

  const request = requester({ url, headers, tls, usual_ms, clock, send });
  return {
    base_url: url,
    headers,
    socket: { headers, ...tls },
    timeout_ms: usual_ms,
    call: (operation, ...[call]) => request(operation, (call ?? {}) as Call, jsonOf) as never,
    open: (operation, ...[call]) =>
      request(operation, (call ?? {}) as Call, async (response) => response),
    socketUrl: (operation, ...given) => url.replace(/^http/, "ws") + pathOf(operation, ...given),
  };
}
