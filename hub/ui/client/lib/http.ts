import { FlotillaError } from "#shared/client/errors.ts";
import { type CallOf, createHttp, failureOf, type Http } from "#shared/client/http.ts";
import type {
  AnswerOf,
  Args,
  GivenTo,
  JsonOperation,
  Operation,
} from "#shared/client/operation.ts";
import { fetchHeard } from "./connection.ts";
import { askLogin, type LoginKind, loginStore, setWho, type WhoIAm } from "./logins.ts";

/** Fields that pages and addresses filter by: people write into addresses what they like, and the server judges it. */
type AsWritten<Q> = { [N in keyof Q]?: Q[N] | string | null };

/** What a route takes, with the fields of its query as they were written. */
export type Asked<G> = Omit<G, "query"> &
  (G extends { query?: infer Q } ? { query?: AsWritten<NonNullable<Q>> } : unknown);

/** What a page reads: which of the things of a path, and which part of them. */
export type Read<K extends Operation> = Asked<
  Pick<GivenTo<K>, keyof GivenTo<K> & ("params" | "query")>
>;

const TIMEOUT_MS = 30_000;
const HEADERS = {
  accept: "application/json",
  // Its presence alone keeps the browser's own password dialog away.
  "x-admin-password": "",
};

let made: Http | undefined;
/** The server that the page came from. Tests read this file where there is no page. */
const http = (): Http => {
  const { location } = globalThis as unknown as { location: { origin: string } };
  made ??= createHttp({
    base_url: location.origin,
    headers: HEADERS,
    timeout_ms: TIMEOUT_MS,
    fetch: fetchHeard,
  });
  return made;
};

/** An address of the app with the fields that are set. */
export function withQuery(
  path: string,
  query: Record<string, string | number | boolean | null | undefined> = {},
): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== "") params.set(key, String(value));
  return params.size === 0 ? path : `${path}?${params}`;
}

/** One segment of an address of the app. */
export const seg = (text: string | number): string => encodeURIComponent(text);

/** The gate says which role is missing (hub/platform/http/admit.ts). */
const NEEDS_ADMIN = /^this needs a token of the role admin/;

function loginWanted({ status, message, headers }: FlotillaError): LoginKind | null {
  if (status === 403) return NEEDS_ADMIN.test(message) ? "admin" : null;
  if (status !== 401) return null;
  const challenge = headers.get("www-authenticate") ?? "";
  if (challenge.startsWith("Bearer")) return "token";
  return challenge.startsWith("X-Admin-Password") ? "admin" : null;
}

/**
 * A call that only the app makes and that is not part of the API.
 * @returns the answer.
 */
const own = (method: "GET" | "POST", path: string, json?: object): Promise<Response> =>
  fetchHeard(`/ui/${path}`, {
    method,
    headers: { ...HEADERS, ...(json && { "content-type": "application/json" }) },
    body: json ? JSON.stringify(json) : null,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });

/** Who this browser is logged in as; what is shown follows from it. */
export async function lookWho(): Promise<void> {
  const response = await own("GET", "caller");
  setWho(response.ok ? ((await response.json()) as WhoIAm) : null);
}

/**
 * Gives this browser its own session.
 * @returns null, or the server's refusal
 */
export async function login(
  given: { token: string } | { password: string } | { code: string },
): Promise<string | null> {
  const response = await own("POST", "login", given);
  if (!response.ok)
    return failureOf(response.status, await response.json().catch(() => null)).message;
  await lookWho();
  // A call that was refused before no longer asks for a login.
  loginStore.get()?.answer("in");
  return null;
}

/** Ends it. */
export async function logout(): Promise<void> {
  await own("POST", "logout");
  await lookWho();
}

/** Asks for a login where the server wants one, and tries again with it. @throws FlotillaError */
async function withLogins<T>(attempt: () => Promise<T>): Promise<T> {
  let wrong: string | null = null;
  for (;;) {
    try {
      return await attempt();
    } catch (err) {
      const kind = err instanceof FlotillaError ? loginWanted(err) : null;
      if (kind === null) throw err;
      const given = await askLogin(kind, wrong);
      if (given === null) throw err;
      if (given === "in") continue;
      const { secret } = given;
      wrong = await login(given.kind === "admin" ? { password: secret } : { token: secret });
    }
  }
}

/** A body as a person wrote it: what it must be, the server says. */
export const asWritten = (json: unknown): never => json as never;

type HeardAnswer = (
  operation: JsonOperation,
  given: { params?: object } | undefined,
  answer: unknown,
) => void;
const answerListeners = new Set<HeardAnswer>();

/** Hears of every JSON answer before the caller does. */
export const subscribeAnswers = (heard: HeardAnswer): void => void answerListeners.add(heard);

/** The JSON of a 2xx answer, null where it has none. @throws FlotillaError */
export async function call<K extends JsonOperation>(
  operation: K,
  ...given: Args<Asked<CallOf<K>>>
): Promise<AnswerOf<K>> {
  const answer = await withLogins(() => http().call(operation, ...(given as Args<CallOf<K>>)));
  const asked = given[0] as { params?: object } | undefined;
  for (const heard of answerListeners) heard(operation, asked, answer);
  return answer;
}

/** A 2xx answer as it comes. @throws FlotillaError */
export const open = <K extends Operation>(
  operation: K,
  ...given: Args<Asked<CallOf<K>>>
): Promise<Response> => withLogins(() => http().open(operation, ...(given as Args<CallOf<K>>)));

/** The text of a 2xx answer, cut off at a number of bytes. */
export async function getText<K extends Operation>(
  operation: K,
  given: CallOf<K>,
  most = 1_000_000,
): Promise<string> {
  const headers = { accept: "*/*", range: `bytes=0-${most - 1}` };
  const response = await open(operation, ...([{ ...given, headers }] as never));
  return response.text();
}
