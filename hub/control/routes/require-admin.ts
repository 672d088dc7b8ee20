import type { Context, MiddlewareHandler } from "hono";
import type { HttpEnv } from "#hub/http/env.ts";
import type { AdminGate } from "../operations/admin.ts";

/** Longer than any password; argon2 need not read more. */
const MAX_GIVEN = 1_000;

/** `Authorization: Basic` of the user admin, or X-Admin-Password where that header carries the API token. */
function givenPassword(c: Context<HttpEnv>): string | null {
  const header = c.req.header("x-admin-password");
  if (header !== undefined) return header.slice(0, MAX_GIVEN);
  const basic = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(c.req.header("authorization") ?? "")?.[1];
  if (basic === undefined) return null;
  const [, user, password] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(basic, "base64").toString("utf8")) ?? [];
  // Another user's password is as wrong as a wrong one.
  return user === "admin" ? (password ?? "").slice(0, MAX_GIVEN) : "";
}

/** Lets only the administrator on (design/architecture.md §7). @throws AppError as `AdminGate.check` does */
export function requireAdmin({ admin }: { admin: AdminGate }, c: Context<HttpEnv>): Promise<void> {
  const address = c.env?.server?.requestIP(c.req.raw)?.address ?? "unknown";
  return admin.check(givenPassword(c), address);
}

/** The same before the body is looked at. */
export const adminOnly = (ctx: { admin: AdminGate }): MiddlewareHandler<HttpEnv> =>
  async function adminOnlyGuard(c, next) {
    await requireAdmin(ctx, c);
    await next();
  };
