import type { Context, MiddlewareHandler } from "hono";
import { isNestedDeeper } from "#shared/kit/json.ts";
import type { HttpEnv } from "./env.ts";

/**
 * Answers a call whose body `plain` recognises as valid for its route's schema. Everything else, including every fault,
 * goes on to the route, whose schema says what is wrong. It is for calls that come thousands a second: the validator
 * took half of the time of a claim, and a third of that of a batch.
 */
export const quickly = <T>(
  max_bytes: number,
  plain: (body: unknown) => T | null,
  answer: (c: Context<HttpEnv>, body: T) => Promise<Response>,
): MiddlewareHandler<HttpEnv> =>
  async function answerQuickly(c, next) {
    const length = Number(c.req.header("content-length") ?? Number.NaN);
    if (!(length <= max_bytes) || c.req.header("content-type") !== "application/json")
      return next();
    // Kept by Hono: the route's own guards read it again.
    const bytes = await c.req.arrayBuffer().catch(() => null);
    const body = bytes === null ? null : plain(parse(bytes));
    return body === null ? next() : answer(c, body);
  };

const utf8 = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: ArrayBuffer): unknown {
  if (isNestedDeeper(new Uint8Array(bytes))) return undefined;
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}
