import type { z } from "@hono/zod-openapi";
import { ErrorBody } from "#shared/protocol/schema/error.ts";

const REASONS = {
  400: "Not JSON, or a required field is missing",
  401: "The token is missing or wrong",
  403: "A page of another origin sent it, it needs another role, or no administrator's password is set",
  404: "It does not exist",
  405: "The path has no such method",
  409: "The state conflicts with the operation",
  410: "The link has expired",
  412: "The version does not match If-Match or If-None-Match",
  413: "The body is too large",
  415: "The body must be application/json",
  416: "The range is outside the body",
  422: "A field breaks a rule",
  426: "This is a WebSocket endpoint",
  429: "Too many wrong passwords; Retry-After says when to try again",
  502: "The worker cannot be reached",
  503: "The fleet is at capacity, or the hub cannot answer now",
  504: "It took too long",
} as const;
export type FailStatus = keyof typeof REASONS;

/** The same for any status. */
export const reasonOf = (status: number): string =>
  (REASONS as Record<number, string>)[status] ?? `Answered with ${status}`;

type Fails<S extends FailStatus> = {
  [K in S]: { description: string; content: { "application/json": { schema: typeof ErrorBody } } };
};

const content = <T extends z.ZodType>(schema: T) => ({ "application/json": { schema } });

/** Error answers, all `{detail}`. 401 and 403 may answer any call and are described once for the whole API. */
export const fails = <S extends FailStatus>(...statuses: S[]): Fails<S> => {
  const out: Record<number, { description: string; content: ReturnType<typeof content> }> = {};
  for (const status of statuses)
    out[status] = { description: REASONS[status], content: content(ErrorBody) };
  return out as Fails<S>;
};

export const ok = <T extends z.ZodType>(schema: T, description = "Done") => ({
  200: { description, content: content(schema) },
});

/** A required JSON body, with an example that /docs offers to send. */
export const json = <T extends z.ZodType>(schema: T, example?: z.input<T>) => ({
  body: {
    required: true,
    content: { "application/json": { schema, ...(example === undefined ? {} : { example }) } },
  },
});

/** The answer to `If-None-Match` with the ETag of what is there. */
export const NOT_MODIFIED = { 304: { description: "The client already has it" } } as const;

/** A file body of any type. */
export const bytes = (description: string) => ({
  description,
  content: { "*/*": { schema: { type: "string", format: "binary" } as const } },
});

/**
 * A streamed answer has no type to compare with the route's description; the property test over /openapi.json compares
 * what is really sent.
 */
export const streamed = (response: Response): never => response as never;
