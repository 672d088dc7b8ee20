import type { Context } from "hono";
import { AppError } from "#shared/kit/errors.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import type { Throttle } from "../access/throttle.ts";
import type { Tokens } from "../access/tokens.ts";
import { API_TOKEN, type Caller } from "./caller.ts";
import type { HttpEnv } from "./env.ts";
import { tokenRequired } from "./guards.ts";
import { type KnownBrowsers, whoseCount } from "./require-admin.ts";

/** What judges a token, in a header or at the login. */
export interface TokenDeps {
  readonly secrets: { readonly api_token: string | null };
  readonly tokens: Pick<Tokens, "callerOf">;
  readonly logins: KnownBrowsers;
  readonly throttle: Throttle;
}

/**
 * Of characters: a shorter SVC_API_TOKEN can be guessed, so while somebody has to wait, it is not told that it guessed right.
 * Nobody guesses a longer one, or one of ours (256 random bits): their holders wait for nobody's guesses.
 */
const GUESSABLE = 16;

/** Where a token is shown. A header that is wrong by mistake is sent with every call of a program; people type at the login. */
export type ShownIn = "header" | "login";

/** Wrong tokens before the first wait: a program with another installation's token is told so by 401, not by a wait. */
const FREE: Record<ShownIn, number> = { header: 100, login: 5 };

const isGuessable = ({ api_token }: TokenDeps["secrets"]): boolean =>
  api_token !== null && api_token.length < GUESSABLE;

/** Headers and the login are counted apart: mistakes of a program keep nobody from logging in. */
async function countOf(c: Context<HttpEnv>, shown_in: ShownIn, logins: KnownBrowsers) {
  const count = await whoseCount(c, "token", logins);
  return shown_in === "login" ? count : `${count} header`;
}

const tooMany = (wait_ms: number): AppError => {
  const wait_s = Math.ceil(wait_ms / 1_000);
  return new AppError("too_many", `too many wrong tokens; wait ${wait_s} s`, {
    headers: { "Retry-After": String(wait_s) },
  });
};

/** Whose token it is; null for a wrong one. A right one costs no look at any count. */
export async function holderOf(
  given: string,
  { secrets, tokens }: Pick<TokenDeps, "secrets" | "tokens">,
): Promise<Caller | null> {
  const { api_token } = secrets;
  if (api_token !== null && sameSecret(given, api_token)) return API_TOKEN;
  return tokens.callerOf(given);
}

/**
 * Keeps a caller whose token can be guessed out for as long as its address, or its browser, has to wait.
 * @throws AppError too_many
 */
export async function refuseWhileWaiting(
  c: Context<HttpEnv>,
  caller: Caller,
  { secrets, logins, throttle }: TokenDeps,
  shown_in: ShownIn,
): Promise<void> {
  if (caller !== API_TOKEN || !isGuessable(secrets)) return;
  const wait_ms = throttle.waits(await countOf(c, shown_in, logins), FREE[shown_in]);
  if (wait_ms > 0) throw tooMany(wait_ms);
}

/**
 * What a caller whose token is wrong or missing is answered with. A wrong one counts among those of its address, or of its
 * browser when that was let in before: at the login always, in a header, of whatever route or socket, where SVC_API_TOKEN
 * can be guessed.
 * @throws AppError unavailable while the shared store does not answer
 */
export async function refusalOf(
  c: Context<HttpEnv>,
  given: string | null,
  { secrets, logins, throttle }: Pick<TokenDeps, "secrets" | "logins" | "throttle">,
  shown_in: ShownIn,
): Promise<AppError> {
  if (given === null || (shown_in === "header" && !isGuessable(secrets))) return tokenRequired();
  const wait_ms = await throttle.take(await countOf(c, shown_in, logins), FREE[shown_in]);
  return wait_ms > 0 ? tooMany(wait_ms) : tokenRequired();
}
