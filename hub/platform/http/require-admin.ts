import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { AppError } from "#shared/kit/errors.ts";
import type { AdminGate } from "../access/admin.ts";
import type { Logins } from "../access/logins.ts";
import { ADMINISTRATOR, NOBODY } from "./caller.ts";
import type { HttpEnv } from "./env.ts";
import { KNOWN_COOKIE } from "./guards.ts";

export type Administrator = Pick<AdminGate, "check" | "isSet" | "isPassword">;
export type KnownBrowsers = Pick<Logins, "readKnown">;

/** Longer than any password; argon2 need not read more. */
const MAX_GIVEN = 1_000;

/** `Authorization: Basic` of the user admin, or X-Admin-Password where that header carries the API token. */
export function givenPassword(c: Context<HttpEnv>): string | null {
  const header = c.req.header("x-admin-password");
  if (header !== undefined) return header === "" ? null : header.slice(0, MAX_GIVEN);
  const basic = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(c.req.header("authorization") ?? "")?.[1];
  if (basic === undefined) return null;
  const [, user, password] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(basic, "base64").toString("utf8")) ?? [];
  // Another user's password is as wrong as a wrong one.
  return user === "admin" ? (password ?? "").slice(0, MAX_GIVEN) : "";
}

/** When the header was used, a browser must not open its dialog for Basic, because the web app has its own. */
const CHALLENGE = { "WWW-Authenticate": 'X-Admin-Password realm="administrator"' };

/**
 * Which count a try belongs to: a browser that was let in before has its own, which nobody else behind its router can
 * use up (OWASP, device cookies), and so has the holder of a token; all others share the count of their address.
 */
export async function whoseCount(
  c: Context<HttpEnv>,
  what: "administrator" | "token",
  logins: KnownBrowsers,
): Promise<string> {
  const cookie = getCookie(c, KNOWN_COOKIE);
  const as = (of: typeof what) => (cookie === undefined ? null : logins.readKnown(cookie, of));
  const nonce = (await as("administrator")) ?? (what === "token" ? await as("token") : null);
  if (nonce !== null) return `browser:${nonce}`;
  const { kind, token_id } = c.var.caller ?? NOBODY;
  return [what, kind, token_id ?? placeOf(addressOf(c))].join(" ");
}

/** The connection's address, because anyone may write a header. */
export const addressOf = (c: Context<HttpEnv>): string | undefined =>
  c.env?.server?.requestIP(c.req.raw)?.address;

/** Loopback is one place, and so is an IPv6 network, because whoever has one address there has all of them. */
export function placeOf(address = "unknown"): string {
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (v4 !== undefined) return v4.startsWith("127.") ? "loopback" : v4;
  if (address === "::1") return "loopback";
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.split("::");
  const groups = head.split(":").filter(Boolean);
  const missing = 8 - groups.length - tail.split(":").filter(Boolean).length;
  return [...groups, ...Array(Math.max(0, missing)).fill("0"), ...tail.split(":")]
    .slice(0, 4)
    .join(":");
}

/**
 * Lets only the administrator through (rules/access#administrator).
 * @throws AppError as `AdminGate.check` does
 */
export async function requireAdmin(
  { admin, logins }: { admin: Pick<Administrator, "check">; logins: KnownBrowsers },
  c: Context<HttpEnv>,
): Promise<void> {
  if (c.var.caller?.role === "admin") return;
  const by_header = c.req.header("x-admin-password") !== undefined;
  await checkPassword({ admin, logins }, c, givenPassword(c)).catch((err: unknown) => {
    throw by_header ? withoutDialog(err) : err;
  });
  c.set("caller", ADMINISTRATOR);
}

/**
 * The same for a password in a body.
 * @throws AppError as `AdminGate.check` does
 */
export async function demandPassword(
  deps: Parameters<typeof requireAdmin>[0],
  c: Context<HttpEnv>,
  password: string,
): Promise<void> {
  await checkPassword(deps, c, password).catch((err: unknown) => {
    throw withoutDialog(err);
  });
}

const checkPassword = async (
  { admin, logins }: Parameters<typeof requireAdmin>[0],
  c: Context<HttpEnv>,
  password: string | null,
): Promise<void> => admin.check(password, await whoseCount(c, "administrator", logins));

const withoutDialog = (err: unknown): unknown =>
  err instanceof AppError && err.kind === "unauthorized"
    ? new AppError(err.kind, err.detail, { headers: CHALLENGE, cause: err })
    : err;
