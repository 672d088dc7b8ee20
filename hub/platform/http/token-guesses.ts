import type { Context } from "hono";
import { type AppError, tooManyWrong } from "#shared/kit/errors.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import type { Throttle } from "../access/throttle.ts";
import type { Tokens } from "../access/tokens.ts";
import { API_TOKEN, type Caller } from "./caller.ts";
import type { HttpEnv } from "./env.ts";
import { tokenRequired } from "./guards.ts";
import { type KnownBrowsers, whoseCount } from "./require-admin.ts";

/** Judges a token, in a header or at the login. */
export interface TokenDeps {
  readonly secrets: { readonly api_token: string | null };
  readonly tokens: Pick<Tokens, "callerOf">;
  readonly logins: KnownBrowsers;
  readonly throttle: Throttle;
}

/**
 * In characters: a shorter SVC_API_TOKEN can be guessed, so a caller that has to wait does not learn that a guess was
 * right. Nobody can guess a longer one, or a created token (256 random bits), so their holders do not wait for anyone's
 * guesses.
 */
const GUESSABLE = 16;

/** Where a token is shown. A program sends a wrong header with every call by mistake; people type at the login. */
export type ShownIn = "header" | "login";

/**
 * Wrong secrets in headers before the first wait, so a program with another installation's token gets 401 instead of a
 * wait. The login has the throttle's default.
 */
export const FREE_IN_HEADERS = 100;
const freeIn = (shown_in: ShownIn) => (shown_in === "header" ? FREE_IN_HEADERS : undefined);

export const isShort = (secret: string | null): boolean =>
  secret !== null && secret.length < GUESSABLE;

const isGuessable = ({ api_token }: TokenDeps["secrets"]): boolean => isShort(api_token);

/** Headers and the login are counted separately, so mistakes of a program keep no one from logging in. */
async function countOf(c: Context<HttpEnv>, shown_in: ShownIn, logins: KnownBrowsers) {
  const count = await whoseCount(c, "token", logins);
  return shown_in === "login" ? count : `${count} header`;
}

/** Whose token it is; null for a wrong one. A right one needs no look at any count. */
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
  const wait_ms = throttle.waits(await countOf(c, shown_in, logins), freeIn(shown_in));
  if (wait_ms > 0) throw tooManyWrong("tokens", wait_ms);
}

/**
 * The answer to a caller whose token is wrong or missing. A wrong one counts for its address, or for its browser if
 * that was let in before: always at the login, and in the header of any route or socket where SVC_API_TOKEN can be
 * guessed.
 * @throws AppError unavailable while the shared store does not answer
 */
export async function refusalOf(
  c: Context<HttpEnv>,
  given: string | null,
  { secrets, logins, throttle }: Pick<TokenDeps, "secrets" | "logins" | "throttle">,
  shown_in: ShownIn,
): Promise<AppError> {
  if (given === null || (shown_in === "header" && !isGuessable(secrets))) return tokenRequired();
  const wait_ms = await throttle.take(await countOf(c, shown_in, logins), freeIn(shown_in));
  return wait_ms > 0 ? tooManyWrong("tokens", wait_ms) : tokenRequired();
}
