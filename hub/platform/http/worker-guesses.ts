import type { Context } from "hono";
import { tooManyWrong, waitWords } from "#shared/kit/errors.ts";
import { sameSecret, workerSecret } from "#shared/kit/secret.ts";
import type { Throttle } from "../access/throttle.ts";
import type { HttpEnv } from "./env.ts";
import { addressOf, placeOf } from "./require-admin.ts";
import { FREE_IN_HEADERS, isShort } from "./token-guesses.ts";

/** Judges a worker's secret, in a header, a registration, or the mark of a call that a hub passed on. */
export interface WorkerSecretDeps {
  readonly secrets: { readonly api_token: string | null; readonly worker_secret: string | null };
  readonly throttle: Throttle;
}

/** `wait_ms`: how long the caller must wait before it learns whether the secret was right; 0 when it need not. */
export interface SecretVerdict {
  readonly right: boolean;
  readonly wait_ms: number;
}

/** A short secret can be guessed, and so can one that is derived from a short token. */
const isGuessable = ({ api_token, worker_secret }: WorkerSecretDeps["secrets"]): boolean =>
  isShort(worker_secret) ||
  (isShort(api_token) && workerSecret(undefined, api_token ?? undefined) === worker_secret);

/**
 * Counts a wrong secret for its address where secrets can be guessed, like a wrong token in a header
 * (rules/access#wrong-tokens). A caller that shows none does not guess. `addressOfCaller` is called only when needed,
 * because asking the server for it costs as much as routing the call.
 * @throws AppError unavailable while the shared store does not answer
 */
export async function judgeGuess(
  is_right: boolean,
  given: string,
  addressOfCaller: () => string | undefined,
  { secrets, throttle }: WorkerSecretDeps,
): Promise<SecretVerdict> {
  if (given === "" || !isGuessable(secrets)) return { right: is_right, wait_ms: 0 };
  const count = `worker ${placeOf(addressOfCaller())}`;
  const wait_ms = is_right
    ? throttle.waits(count, FREE_IN_HEADERS)
    : await throttle.take(count, FREE_IN_HEADERS);
  return { right: is_right && wait_ms === 0, wait_ms };
}

/** Without a secret, workers are callers that show none. */
export const judgeWorkerSecret = (
  given: string,
  addressOfCaller: () => string | undefined,
  deps: WorkerSecretDeps,
): Promise<SecretVerdict> =>
  judgeGuess(sameSecret(given, deps.secrets.worker_secret ?? ""), given, addressOfCaller, deps);

/**
 * Whether the caller knows the workers' secret, if it may learn that now.
 * @throws AppError too_many while it has to wait
 */
export async function isWorker(c: Context<HttpEnv>, deps: WorkerSecretDeps): Promise<boolean> {
  const given = c.req.header("x-worker-secret") ?? "";
  const { right, wait_ms } = await judgeWorkerSecret(given, () => addressOf(c), deps);
  if (wait_ms > 0) throw tooManyWrong("worker secrets", wait_ms);
  return right;
}

/** The close of a registration while its address has to wait. */
export const waitReason = (wait_ms: number): string => waitWords("worker secrets", wait_ms);
