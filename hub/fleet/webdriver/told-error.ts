import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { AppError } from "#shared/kit/errors.ts";
import {
  WebDriverError,
  type WebDriverErrorBody,
  type WebDriverErrorName,
  webDriverError,
} from "#shared/protocol/webdriver-error.ts";

/** An error in the form that WebDriver's clients read (rules/webdriver#errors). */
export interface ToldError {
  /** Nobody has foreseen it: it belongs into the log. */
  readonly is_failure?: true;
  readonly status: number;
  readonly body: WebDriverErrorBody;
}

/** Paths whose answers WebDriver's clients read, as calls are routed. */
const PATHS = /^\/(session(\/.+)?|status)$/s;
const COMMAND = /^\/session\/./;
/** What says more than WebDriver's 500: who may call, and that the same call may do later (Retry-After). */
const KEPT = new Set([401, 403, 421, 429, 503]);

/** Null for a call of any other path. */
export function toldAsWebDriver(c: Context<HttpEnv>, err: Error): ToldError | null {
  if (!PATHS.test(c.req.path)) return null;
  if (err instanceof WebDriverError) return { status: err.status, body: err.body };
  const is_command = COMMAND.test(c.req.path);
  if (err instanceof HTTPException && err.status === 405)
    return { status: 405, body: webDriverError("unknown method", "the path has no such method") };
  if (!(err instanceof AppError)) {
    const left = err.name === "AbortError" && c.req.raw.signal.aborted;
    const { status, body } = new WebDriverError("unknown error", "internal error");
    return { status, body, ...(!left && { is_failure: true }) };
  }
  const message = wordsOf(err);
  const name = nameOf(c.req.method, is_command);
  if (KEPT.has(err.status)) return { status: err.status, body: webDriverError(name, message) };
  if (err.kind === "bad_request" || err.kind === "too_large" || err.kind === "unsupported_media")
    return asTold(new WebDriverError("invalid argument", message));
  if (is_command && err.kind === "not_found")
    return asTold(new WebDriverError("invalid session id", message));
  return asTold(new WebDriverError(name, message));
}

function nameOf(method: string, is_command: boolean): WebDriverErrorName {
  if (is_command) return "unknown error";
  return method === "POST" ? "session not created" : "unknown method";
}

const asTold = ({ status, body }: WebDriverError): ToldError => ({ status, body });

/** What a caller of POST /sessions would find in the body is in `flotilla:options`, or stands for a capability. */
function wordsOf({ detail, message, body }: AppError): string {
  if (typeof detail !== "string")
    return detail
      .map(({ loc: [at, ...rest], msg }) =>
        [[at === "body" ? "flotilla:options" : at, ...rest].join("."), msg].join(": "),
      )
      .join("; ");
  const { waiting_for } = body as { waiting_for?: { detail?: unknown } };
  return typeof waiting_for?.detail === "string" ? `${message}: ${waiting_for.detail}` : message;
}
