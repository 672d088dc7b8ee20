import type { Context } from "hono";
import { AppError } from "#shared/errors.ts";
import type { AdminGate } from "../control/operations/admin.ts";
import type { HttpEnv } from "./env.ts";

export type Administrator = Pick<AdminGate, "check" | "isSet">;

/** Longer than any password; argon2 need not read more. */
const MAX_GIVEN = 1_000;

/** `Authorization: Basic` of the user admin, or X-Admin-Password where that header carries the API token. */
function givenPassword(c: Context<HttpEnv>): string | null {
  const header = c.req.header("x-admin-password");
  if (header !== undefined) return header === "" ? null : header.slice(0, MAX_GIVEN);
  const basic = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(c.req.header("authorization") ?? "")?.[1];
  if (basic === undefined) return null;
  const [, user, password] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(basic, "base64").toString("utf8")) ?? [];
  // Another user's password is as wrong as a wrong one.
  return user === "admin" ? (password ?? "").slice(0, MAX_GIVEN) : "";
}

/** Asked with the header, a browser must not open the dialog it has for Basic: the admin UI has its own. */
const CHALLENGE = { "WWW-Authenticate": 'X-Admin-Password realm="administrator"' };

/** Lets only the administrator on (design/architecture.md §7). @throws AppError as `AdminGate.check` does */
export async function requireAdmin(
  admin: Pick<Administrator, "check">,
  c: Context<HttpEnv>,
): Promise<void> {
  const address = c.env?.server?.requestIP(c.req.raw)?.address ?? "unknown";
  try {
    await admin.check(givenPassword(c), address);
  } catch (err) {
    if (
      err instanceof AppError &&
      err.kind === "unauthorized" &&
      c.req.header("x-admin-password") !== undefined
    )
      throw new AppError(err.kind, err.detail, { headers: CHALLENGE, cause: err });
    throw err;
  }
}
