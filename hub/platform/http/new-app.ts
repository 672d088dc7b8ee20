import { type Hook, OpenAPIHono, z } from "@hono/zod-openapi";
import { AppError } from "#shared/kit/errors.ts";
import { issueWords } from "#shared/kit/issue-words.ts";
import type { HttpEnv } from "./env.ts";
import { locPart, toIssues, type ZodIssue } from "./issues.ts";

// Before the first schema judges a call: one sentence for each rule, instead of zod's own words.
z.config({ customError: issueWords });

const LOC = {
  json: "body",
  form: "body",
  query: "query",
  param: "path",
  header: "header",
} as const;

function valueAt(data: unknown, path: PropertyKey[]): unknown {
  let value = data;
  for (const part of path) {
    if (typeof value !== "object" || value === null) return value;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value;
}

/** A required field that is not there is 400, a field that breaks a rule is 422 (rules/http#missing-and-wrong-fields). */
function isMissing(issue: ZodIssue, data: unknown): boolean {
  if (issue.code !== "invalid_type" && issue.code !== "invalid_value") return false;
  return issue.path.length > 0 && valueAt(data, issue.path) === undefined;
}

/**
 * 400 naming the required field that `data` lacks, with all other faults if there are more; else 422 with all faults.
 */
export function validationError(issues: ZodIssue[], where: string, data: unknown): AppError {
  const missing = issues.find((issue) => isMissing(issue, data));
  if (!missing) return new AppError("invalid", toIssues(issues, where));
  if (issues.length > 1) return new AppError("bad_request", toIssues(issues, where));
  return new AppError(
    "bad_request",
    `${[where, ...missing.path.map(locPart)].join(".")} is required`,
  );
}

const validationHook: Hook<unknown, HttpEnv, string, unknown> = (result) => {
  if (result.success) return;
  const where = LOC[result.target as keyof typeof LOC] ?? result.target;
  // zod-validator gives the raw input to the hook as `data`, beside the error.
  throw validationError(result.error.issues, where, (result as { data?: unknown }).data);
};

/**
 * A sub-app whose validation failures are thrown as `AppError`, for the one `onError`. `pathOf` of the whole app says by
 * which path a call is routed, if not by that of its URL.
 */
export const newApp = (pathOf?: (request: Request) => string) =>
  new OpenAPIHono<HttpEnv>({
    defaultHook: validationHook,
    ...(pathOf !== undefined && { getPath: pathOf }),
  });
export type App = ReturnType<typeof newApp>;
