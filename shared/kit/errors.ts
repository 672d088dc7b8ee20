import { withField } from "./issue-words.ts";

/** The closed list of ways a request can fail, and the one place that maps them to HTTP (rules/http#errors). */

const STATUS = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  failed_condition: 412,
  too_large: 413,
  unsupported_media: 415,
  misdirected: 421,
  invalid: 422,
  too_many: 429,
  internal: 500,
  relay_failed: 502,
  at_capacity: 503,
  unavailable: 503,
  timed_out: 504,
} as const;

export type ErrorKind = keyof typeof STATUS;

/** One entry of a validation error: `loc` starts at `body`, `query`, `path` or `header`. */
export interface Issue {
  loc: (string | number)[];
  msg: string;
  type: string;
}

export interface AppErrorOptions {
  /** Extra top-level members of the error body, besides `detail`. */
  body?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** Thrown by domain code; `hub/platform/http/on-error.ts` turns it into `{detail}` with the status of its kind. */
export class AppError extends Error {
  readonly kind: ErrorKind;
  readonly detail: string | Issue[];
  readonly body: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(kind: ErrorKind, detail: string | Issue[], options: AppErrorOptions = {}) {
    super(typeof detail === "string" ? detail : detail.map((i) => i.msg).join("; "), {
      cause: options.cause,
    });
    this.name = "AppError";
    this.kind = kind;
    this.detail = detail;
    this.body = options.body ?? {};
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return STATUS[this.kind];
  }
}

export const notFound = (what: string) => new AppError("not_found", `${what} not found`);
export const conflict = (detail: string) => new AppError("conflict", detail);
export const badRequest = (detail: string) => new AppError("bad_request", detail);
/** `msg` may leave its field out, which is `loc` without where it is. */
export const invalid = (loc: Issue["loc"], msg: string, type = "invalid") =>
  new AppError("invalid", [{ loc, msg: withField(msg, loc.slice(1)), type }]);

/** The message of anything thrown, for logs and stored errors. */
export const errorMessage = (err: unknown): string =>
  err instanceof Error ? err.message : String(err);

const waitSeconds = (wait_ms: number): number => Math.ceil(wait_ms / 1_000);

/** `what` was wrong, in the plural: "tokens". */
export const waitWords = (what: string, wait_ms: number): string =>
  `too many wrong ${what}; wait ${waitSeconds(wait_ms)} s`;

/** 429 with the wait in Retry-After (rules/access#wrong-tokens). */
export const tooManyWrong = (what: string, wait_ms: number): AppError =>
  new AppError("too_many", waitWords(what, wait_ms), {
    headers: { "Retry-After": String(waitSeconds(wait_ms)) },
  });
