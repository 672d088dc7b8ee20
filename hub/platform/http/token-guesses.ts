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
): Promise<void> {
  if (caller !== API_TOKEN || (secrets.api_token?.length ?? 0) >= GUESSABLE) return;
  const wait_ms = throttle.waits(await whoseCount(c, "token", logins));
  if (wait_ms > 0) throw tooMany(wait_ms);
}

/**
 * What a caller whose token is wrong or missing is answered with: a wrong one counts, whatever route or socket it was shown
 * to, among the wrong ones of its address, or of its browser when that was let in before.
 * @throws AppError unavailable while the shared store does not answer
 */
export async function refusalOf(
  c: Context<HttpEnv>,
  given: string | null,
  { logins, throttle }: Pick<TokenDeps, "logins" | "throttle">,
): Promise<AppError> {
  if (given === null) return tokenRequired();
  const wait_ms = await throttle.take(await whoseCount(c, "token", logins));
  return wait_ms > 0 ? tooMany(wait_ms) : tokenRequired();
}
