import { AwsV4Signer } from "aws4fetch";
import { retryWait } from "#shared/kit/backoff.ts";
import { abortAfter, type Clock } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import type { S3Keys, S3Place } from "./s3-url.ts";
import { textOf } from "./s3-xml.ts";

/** Time for one try of a call that moves little data. */
const SHORT_MS = 10_000;
/** How often, and for how long, failed calls are tried again; then the caller must come back later. */
const TRIES = 4;
const GIVE_UP_MS = 20_000;
const WAIT_MS = { first: 100, most: 2_000 };
const RETRY_AFTER_S = "2";
/** SHA-256 of nothing: what is signed for a call without a body. */
const NO_BODY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

interface S3Call {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Null: the bucket itself. */
  key: string | null;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** Its `sha256` in hex is signed, so S3 refuses a body that changed on its way. */
  body?: { bytes: Uint8Array; sha256: string };
  deadline_ms?: number;
  signal?: AbortSignal | undefined;
  /** Statuses that the caller understands besides 2xx. */
  expect?: readonly number[];
}

interface S3Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** Signed calls of one bucket. */
export interface S3Calls {
  readonly place: S3Place;
  readonly clock: Clock;
  /**
   * The whole answer. Calls have the same effect when they are sent twice, so failures of the network and of the server
   * are tried again for a while.
   * @throws AppError unavailable with Retry-After when S3 does not answer, refuses the hub, or has no room.
   */
  send(call: S3Call): Promise<S3Answer>;
  /** The same, but the body of the answer is still to come; the deadline is for its head. */
  open(call: S3Call): Promise<Response>;
  /** A URL that allows this one call for `expires_s` seconds, to be sent with exactly these headers. */
  presign(
    call: S3Call,
    expires_s: number,
  ): Promise<{ url: string; headers: Record<string, string> }>;
}

/** Why a try failed. */
class S3Failure extends Error {
  readonly again: boolean;
  constructor(message: string, again: boolean, cause?: unknown) {
    super(message, { cause });
    this.again = again;
  }
}

/** RFC 3986, as signatures require it: a URL would leave !'()* as they are. */
export const percent = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** The URL that is signed. */
function urlOf(place: S3Place, { key, query = {} }: S3Call): string {
  const path = key === null ? "" : `/${(place.prefix + key).split("/").map(percent).join("/")}`;
  const search = Object.entries(query).map(([name, value]) => `${name}=${percent(value)}`);
  // A bucket with its own host has a root.
  const root = path === "" && !place.bucket_url.endsWith(`/${place.bucket}`) ? "/" : path;
  return `${place.bucket_url}${root}${search.length > 0 ? `?${search.join("&")}` : ""}`;
}

/** Signs in the headers, or in the query for a call that another client is to make. */
function createSigner(place: S3Place, keys: S3Keys) {
  const cache = new Map<string, ArrayBuffer>();
  return (call: S3Call, headers: Record<string, string>, query: boolean) =>
    new AwsV4Signer({
      url: urlOf(place, call),
      method: call.method,
      headers,
      signQuery: query,
      accessKeyId: keys.access_key_id,
      secretAccessKey: keys.secret_access_key,
      ...(keys.session_token === undefined ? {} : { sessionToken: keys.session_token }),
      service: "s3",
      region: place.region,
      cache,
    }).sign();
}

const isExpected = (call: S3Call, status: number): boolean =>
  (status >= 200 && status < 300) || call.expect?.includes(status) === true;

/** A connection that failed in the middle of a try, whose caller may have given up. */
function brokenOff(call: S3Call, deadline: AbortSignal, err: unknown): S3Failure {
  call.signal?.throwIfAborted();
  return new S3Failure(errorMessage(deadline.aborted ? deadline.reason : err), true, err);
}

/** The text of an answer; a body that breaks off is a failure of the try. */
const textOfAnswer = (call: S3Call, response: Response, deadline: AbortSignal): Promise<string> =>
  response.text().catch((err: unknown) => {
    throw brokenOff(call, deadline, err);
  });

interface Retries {
  clock: Clock;
  random: () => number;
  hide: (text: string) => string;
}

/** Tries, each with its own deadline, as long as another try may help. */
async function withRetries<T>(
  { clock, random, hide }: Retries,
  call: S3Call,
  once: (deadline: AbortSignal) => Promise<T>,
): Promise<T> {
  const since = clock.monotonic();
  for (let tries = 1; ; tries += 1) {
    const over = new AbortController();
    const deadline_ms = call.deadline_ms ?? SHORT_MS;
    try {
      return await once(abortAfter(clock, deadline_ms, over.signal, `S3 ${call.method}`));
    } catch (err) {
      if (!(err instanceof S3Failure)) throw err;
      const wait = retryWait(tries - 1, WAIT_MS, random());
      const stop = tries >= TRIES || clock.monotonic() + wait - since > GIVE_UP_MS;
      if (!err.again || stop) throw toAppError(err, hide);
      await clock.sleep(wait, call.signal);
      call.signal?.throwIfAborted();
    } finally {
      over.abort();
    }
  }
}

export function createS3Calls(
  place: S3Place,
  keys: S3Keys,
  { clock, random }: { clock: Clock; random: () => number },
): S3Calls {
  const sign = createSigner(place, keys);
  const hide = (text: string) =>
    text.replaceAll(keys.secret_access_key, "***").replaceAll(keys.access_key_id, "***");
  const retries: Retries = { clock, random, hide };

  /** One try. */
  const attempt = async (call: S3Call, deadline: AbortSignal): Promise<Response> => {
    const { method, body } = call;
    const signals = call.signal ? [call.signal, deadline] : [deadline];
    const headers = { ...call.headers, "x-amz-content-sha256": body?.sha256 ?? NO_BODY };
    const signed = await sign(call, headers, false);
    // Nothing on the way may compress a body that is read by byte ranges.
    signed.headers.set("accept-encoding", "identity");
    try {
      return await fetch(signed.url, {
        method,
        headers: signed.headers,
        redirect: "manual",
        signal: AbortSignal.any(signals),
        ...(body ? { body: body.bytes as Uint8Array<ArrayBuffer> } : {}),
      });
    } catch (err) {
      throw brokenOff(call, deadline, err);
    }
  };

  return {
    place,
    clock,
    send: (call) =>
      withRetries(retries, call, async (deadline) => {
        const response = await attempt(call, deadline);
        const { status, headers } = response;
        const text = await textOfAnswer(call, response, deadline);
        // An upload in parts may fail after its 200 was sent.
        if (status === 200 && /<Error[\s>]/.test(text)) throw refusal(500, text);
        if (!isExpected(call, status)) throw refusal(status, text);
        return { status, headers, text };
      }),
    open: (call) =>
      withRetries(retries, call, async (deadline) => {
        const response = await attempt(call, deadline);
        if (isExpected(call, response.status)) return response;
        throw refusal(response.status, await textOfAnswer(call, response, deadline));
      }),
    presign: async (call, expires_s) => {
      const headers = { ...call.headers };
      const query = { ...call.query, "X-Amz-Expires": String(expires_s) };
      const { url } = await sign({ ...call, query }, headers, true);
      return { url: url.href, headers };
    },
  };
}

/** Codes of S3 that pass by themselves; of the others, those of server errors. */
const PASSING = ["SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "BadDigest"];

function refusal(status: number, text: string): S3Failure {
  const code = textOf(text, "Code") ?? `HTTP ${status}`;
  const message = textOf(text, "Message") ?? "";
  const again = status >= 500 || status === 429 || status === 408 || PASSING.includes(code);
  // 507 and its like: asking again at once makes no room.
  const full = status === 507 || /StorageFull|QuotaExceeded/.test(code);
  return new S3Failure(`${code} ${message}`.trim().slice(0, 300), again && !full);
}

function toAppError(failure: S3Failure, hide: (text: string) => string): AppError {
  const why = hide(failure.message);
  if (why.startsWith("KeyTooLong")) return new AppError("bad_request", "object key is too long");
  return new AppError("unavailable", `the object store is not available: ${why}`, {
    headers: { "Retry-After": RETRY_AFTER_S },
    cause: failure,
  });
}

/** Whether a call failed because the server is away or busy, and not because it refuses what was asked. */
export const isAway = (err: unknown): boolean =>
  err instanceof AppError && err.cause instanceof S3Failure && err.cause.again;
