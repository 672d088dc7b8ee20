import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** Distinguishes a token with a role from SVC_API_TOKEN; scanners for secrets look for it too. */
export const TOKEN_PREFIX = "flt_";
/** A different label would give a different secret: a fleet's hubs and workers must agree on it across versions. */
const LABEL = "flotilla worker secret v1";

/**
 * The secret of the worker link and of calls between hubs: WORKER_SECRET, else a value that can be derived from
 * SVC_API_TOKEN but does not reveal it. Null, an open LAN (rules/access#open-lan), only where neither is set.
 */
export function workerSecret(
  given: string | undefined,
  api_token: string | undefined,
): string | null {
  if (given !== undefined) return given;
  // A token with a role is one of many: it opens no worker link.
  return api_token === undefined || api_token.startsWith(TOKEN_PREFIX)
    ? null
    : createHmac("sha256", api_token).update(LABEL).digest("hex");
}

const digest = (text: string) => createHash("sha256").update(text).digest();

/** Compares in a time that does not depend on where the two differ, nor on their lengths. */
export const sameSecret = (a: string, b: string): boolean =>
  // No secret is required and none was given, thousands of times a second: there is nothing for timing to reveal.
  (a === "" && b === "") || timingSafeEqual(digest(a), digest(b));
