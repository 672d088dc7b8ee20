import type { MiddlewareHandler } from "hono";
import { AppError, tooManyWrong } from "#shared/kit/errors.ts";
import type { Throttle } from "../access/throttle.ts";
import type { ClusterContext } from "../context.ts";
import type { HttpEnv } from "../http/env.ts";
import { addressOf } from "../http/require-admin.ts";
import { judgeGuess } from "../http/worker-guesses.ts";
import { passedOnBy, RELAY_PROOF_HEADER } from "./relay-mark.ts";

/**
 * Slows down guesses at the workers' secret in the marks of calls between hubs, like guesses anywhere else.
 * @throws AppError forbidden for a wrong mark, too_many after wrong ones
 */
export const relayGuesses = (
  ctx: Pick<ClusterContext, "config" | "hub_id"> & { readonly throttle: Throttle },
): MiddlewareHandler<HttpEnv> =>
  async function relayGuessed(c, next) {
    const { headers } = c.req.raw;
    const proof = headers.get(RELAY_PROOF_HEADER);
    if (proof !== null) await judge(ctx, c, proof);
    await next();
  };

async function judge(
  ctx: Parameters<typeof relayGuesses>[0],
  c: Parameters<MiddlewareHandler<HttpEnv>>[0],
  proof: string,
): Promise<void> {
  let wrong: unknown = null;
  try {
    passedOnBy(ctx, c.req.raw.headers);
  } catch (err) {
    wrong = err;
  }
  const deps = { secrets: ctx.config, throttle: ctx.throttle };
  const { wait_ms } = await judgeGuess(wrong === null, proof, () => addressOf(c), deps);
  if (wait_ms > 0) throw tooManyWrong("worker secrets", wait_ms);
  if (wrong instanceof AppError) throw wrong;
}
