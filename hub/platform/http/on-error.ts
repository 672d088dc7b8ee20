import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { AppError } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { HttpEnv } from "./env.ts";
import { refuseSocket } from "./refuse-socket.ts";

/** The framework's own refusals, in the words of the API. */
function detailOf({ status, message }: HTTPException): string {
  if (status === 415) return "content-type must be application/json";
  if (status === 400 && /malformed json/i.test(message)) return "body is not valid JSON";
  return message || "request refused";
}

/** A store that is away is tried again within a second or two. */
export const RETRY_AFTER_S = "2";

function setHeaders(c: Context, { kind, headers }: AppError): void {
  if (kind === "unavailable") c.header("Retry-After", RETRY_AFTER_S);
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
}

/** How a protocol of its own says an error on this path; null where it is `{detail}`. */
export type ToldOtherwise = (
  c: Context<HttpEnv>,
  err: Error,
) => { readonly status: number; readonly body: object; readonly is_failure?: true } | null;

/** The one place that turns thrown errors into `{detail}` (rules/http#errors); internals stay in the log. */
export const onError =
  (log: Log, otherwise: ToldOtherwise = () => null) =>
  (err: Error, c: Context<HttpEnv>): Response => {
    const told = otherwise(c, err);
    if (told !== null) {
      if (err instanceof AppError) setHeaders(c, err);
      c.set("told_in_protocol", true);
      if (told.is_failure) log.error({ err, method: c.req.method }, "request failed");
      return c.json(told.body, told.status as ContentfulStatusCode);
    }
    if (err instanceof AppError) {
      const socket = refuseSocket(c, err);
      if (socket) return socket;
      setHeaders(c, err);
      if (err.status >= 500 && err.kind === "internal") log.error({ err }, "request failed");
      return c.json({ detail: err.detail, ...err.body }, err.status as ContentfulStatusCode);
    }
    if (err instanceof HTTPException) {
      if (err.status === 426) c.header("Upgrade", "websocket");
      return c.json({ detail: detailOf(err) }, err.status as ContentfulStatusCode);
    }
    // The sender left, or sent invalid chunks: that is not a failure of the hub, and nobody reads the answer.
    if (err.name === "AbortError" && c.req.raw.signal.aborted)
      return c.json({ detail: "the body ended before it was complete" }, 400);
    log.error({ err, method: c.req.method, path: c.req.path.slice(0, 200) }, "request failed");
    return c.json({ detail: "internal error" }, 500);
  };
