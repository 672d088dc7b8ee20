import { createHash } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { invalid } from "#shared/kit/errors.ts";
import type { HttpEnv } from "../http/env.ts";
import { type Answer, type KeyedContext, type KeyedOptions, oncePerKey } from "./once-per-key.ts";

const KEPT_HEADERS = ["content-type", "retry-after", "location"];

/** The call's Idempotency-Key, if it has one. @throws AppError invalid when it is not 1 to 255 printable characters. */
export function idempotencyKey(c: Context): string | null {
  const key = c.req.header("idempotency-key");
  if (key === undefined) return null;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalid(["header", "Idempotency-Key"], "must be 1 to 255 printable ASCII characters");
  return key;
}

async function answerOf(res: Response): Promise<Answer> {
  const text = await res.clone().text();
  const headers: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = res.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  return { status: res.status, body: text === "" ? null : JSON.parse(text), headers };
}

const responseOf = ({ status, body, headers }: Answer): Response =>
  new Response(body === null ? null : JSON.stringify(body), {
    status,
    headers: body === null ? headers : { "Content-Type": "application/json", ...headers },
  });

/**
 * Calls that change something may carry Idempotency-Key: same key and body, same answer; another body, 409
 * (rules/http#idempotency-keys).
 */
export const keyedCall = (
  ctx: KeyedContext,
  options: KeyedOptions = {},
): MiddlewareHandler<HttpEnv> =>
  async function idempotentCall(c, next) {
    const key = idempotencyKey(c);
    if (key === null) return next();
    const fingerprint = createHash("sha256")
      .update(`${c.req.method} ${c.req.path}\n`)
      .update(new Uint8Array(await c.req.arrayBuffer()))
      .digest("hex");
    let ran = false;
    const call = async () => {
      ran = true;
      await next();
      return answerOf(c.res);
    };
    const answer = await oncePerKey(ctx, key, fingerprint, call, options);
    if (!ran) return responseOf(answer);
  };
