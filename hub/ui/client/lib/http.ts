import { askLogin, type LoginKind, loginStore, setWho, type WhoIAm } from "./logins.ts";

/** A rule that a field of a request breaks, as the API names it (rules/http#errors). */
export interface Issue {
  loc: (string | number)[];
  msg: string;
}

/** An answer that is not a success, or none at all (`status` 0). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly issues: readonly Issue[];
  readonly body: unknown;
  constructor(
    message: string,
    status: number,
    issues: readonly Issue[] = [],
    body: unknown = null,
  ) {
    super(message);
    this.status = status;
    this.issues = issues;
    this.body = body;
  }
}

export interface Call {
  /** Sent as JSON. */
  json?: unknown;
  /** Sent unchanged. */
  body?: Blob | FormData | string;
  headers?: Record<string, string>;
  /** Values that are undefined, null or "" are left out. */
  query?: Query;
  signal?: AbortSignal;
  timeout_ms?: number;
}

export type Query = Record<string, string | number | boolean | null | undefined>;

const TIMEOUT_MS = 30_000;

export function withQuery(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== "") params.set(key, String(value));
  return params.size === 0 ? path : `${path}?${params}`;
}

/** One segment of a path. */
export const seg = (text: string | number): string => encodeURIComponent(text);

const isIssues = (detail: unknown): detail is Issue[] =>
  Array.isArray(detail) && detail.every((one) => Array.isArray(one?.loc));

const issueText = ({ loc, msg }: Issue): string =>
  `${loc.filter((part) => part !== "body").join(".")}: ${msg}`;

/** What the API said, or that it said nothing understandable. */
export function errorOf(status: number, body: unknown): ApiError {
  const detail = (body as { detail?: unknown } | null)?.detail;
  if (isIssues(detail)) return new ApiError(detail.map(issueText).join("\n"), status, detail, body);
  const text = typeof detail === "string" ? detail : `the server answered ${status}`;
  return new ApiError(text, status, [], body);
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return text;
  }
}

/** The gate says which role is missing (hub/platform/http/admit.ts). */
const NEEDS_ADMIN = /^this needs a token of the role admin/;

function loginWanted(response: Response, error: ApiError): LoginKind | null {
  if (response.status === 403) return NEEDS_ADMIN.test(error.message) ? "admin" : null;
  if (response.status !== 401) return null;
  const challenge = response.headers.get("www-authenticate") ?? "";
  if (challenge.startsWith("Bearer")) return "token";
  return challenge.startsWith("X-Admin-Password") ? "admin" : null;
}

async function send(method: string, path: string, call: Call): Promise<Response> {
  const { json, body, headers, query, signal } = call;
  const late = AbortSignal.timeout(call.timeout_ms ?? TIMEOUT_MS);
  try {
    return await fetch(withQuery(path, query), {
      method,
      headers: {
        accept: "application/json",
        // Its presence alone keeps the browser's own password dialog away.
        "x-admin-password": "",
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: json === undefined ? (body ?? null) : JSON.stringify(json),
      credentials: "same-origin",
      signal: signal ? AbortSignal.any([signal, late]) : late,
    });
  } catch (err) {
    if (signal?.aborted) throw err;
    const why = late.aborted ? "no answer in time" : "the server cannot be reached";
    throw new ApiError(why, 0);
  }
}

/** Who this browser is logged in as; what is shown follows from it. */
export async function lookWho(): Promise<void> {
  const response = await send("GET", "/ui/caller", {});
  setWho(response.ok ? ((await bodyOf(response)) as WhoIAm) : null);
}

/** Gives this browser a session of its own. @returns null, or what the server said against it */
export async function login(
  given: { token: string } | { password: string } | { code: string },
): Promise<string | null> {
  const response = await send("POST", "/ui/login", { json: given });
  if (!response.ok) return errorOf(response.status, await bodyOf(response)).message;
  await lookWho();
  // A call that was refused before no longer asks for a login.
  loginStore.get()?.answer("in");
  return null;
}

/** Ends it. */
export async function logout(): Promise<void> {
  await send("POST", "/ui/logout", {});
  await lookWho();
}

/** A 2xx answer as it comes; asks for a login where the server wants one. @throws ApiError */
export async function open(method: string, path: string, call: Call = {}): Promise<Response> {
  let wrong: string | null = null;
  for (;;) {
    const response = await send(method, path, call);
    if (response.ok) return response;
    const error = errorOf(response.status, await bodyOf(response));
    const kind = loginWanted(response, error);
    if (kind === null) throw error;
    const given = await askLogin(kind, wrong);
    if (given === null) throw error;
    if (given === "in") continue;
    const { secret } = given;
    wrong = await login(given.kind === "admin" ? { password: secret } : { token: secret });
  }
}

/** The JSON of a 2xx answer. @throws ApiError */
export async function call<T>(method: string, path: string, options: Call = {}): Promise<T> {
  return (await bodyOf(await open(method, path, options))) as T;
}

/** The text of a 2xx answer, cut off at a number of bytes. */
export async function getText(
  path: string,
  most = 1_000_000,
  signal?: AbortSignal,
): Promise<string> {
  const response = await open("GET", path, {
    headers: { accept: "*/*", range: `bytes=0-${most - 1}` },
    signal,
  });
  return response.text();
}
