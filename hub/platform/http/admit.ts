import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { AppError } from "#shared/kit/errors.ts";
import type { Role } from "#shared/protocol/schema/token.ts";
import { isAtLeast } from "#shared/protocol/token-roles.ts";
import type { SignedLinks } from "../access/links/signed-links.ts";
import type { Logins } from "../access/logins.ts";
import type { Throttle } from "../access/throttle.ts";
import type { Tokens } from "../access/tokens.ts";
import type { Access, RouteRules } from "./access.ts";
import { type Caller, NOBODY, OPEN, WORKER } from "./caller.ts";
import type { HttpEnv } from "./env.ts";
import { basicTokenOf, bearerOf, SESSION_COOKIE } from "./guards.ts";
import { type Administrator, givenPassword, requireAdmin } from "./require-admin.ts";
import { holderOf, refusalOf, refuseWhileWaiting } from "./token-guesses.ts";
import { isWorker } from "./worker-guesses.ts";

type C = Context<HttpEnv>;

/** Read at each call, because both may change while the hub runs; null means that it is not required. */
interface Secrets {
  readonly api_token: string | null;
  readonly worker_secret: string | null;
}

/** What identifies callers. */
export interface AdmitDeps {
  readonly secrets: Secrets;
  readonly admin: Administrator;
  readonly tokens: Pick<Tokens, "exist" | "callerOf">;
  readonly logins: Pick<Logins, "callerOf" | "readKnown">;
  /** Counts wrong tokens, and wrong secrets of workers. */
  readonly throttle: Throttle;
  /** Absent where no route has access `link`. */
  readonly signed_links?: Pick<SignedLinks, "read"> | undefined;
}

/** The lowest role that may call. */
const NEEDED: Partial<Record<Access, Role>> = {
  view: "viewer",
  submit: "submitter",
  operate: "operator",
};

/** On the open LAN or with SVC_API_TOKEN: a caller who may do everything that needs no administrator. */
const ofInstallation = ({ kind, role }: Caller): boolean =>
  role === null && (kind === "open" || kind === "api token" || kind === "session");

const holds = (caller: Caller, needed: Role): boolean =>
  ofInstallation(caller) || (caller.role !== null && isAtLeast(caller.role, needed));

/** Whether the gate lets the caller make such calls, without a password beside its token. */
export const mayCall = (caller: Caller, access: "view" | "submit" | "operate"): boolean =>
  holds(caller, NEEDED[access] ?? "viewer");

const roleMissing = (role: Role, { role: own, kind }: Caller): AppError =>
  new AppError(
    "forbidden",
    `this needs a token of the role ${role}${role === "admin" ? "" : " or above"}: ${kind === "session" ? "this login" : "yours"} is ${own}`,
  );

/**
 * Finds out who calls (`c.var.caller`), then lets the call through or not.
 * @throws AppError unauthorized, too_many after wrong tokens, forbidden naming the required role, the errors of a wrong
 * administrator's password or of a link, or unavailable when the database cannot be asked for a token
 */
export async function admit(c: C, rules: RouteRules, deps: AdmitDeps): Promise<void> {
  switch (rules.access) {
    case "public":
    case "capability":
      return c.set("caller", asksForToken(deps) ? NOBODY : OPEN);
    case "link":
      return c.set("caller", await demandLink(c, rules, deps));
    case "worker":
      if (rules.proof === undefined && !(await isWorker(c, deps)))
        throw new AppError("unauthorized", "bad worker secret");
      return c.set("caller", WORKER);
    default:
      await know(c, rules, deps);
      return rules.access === "admin" ? demandAdmin(c, rules, deps) : demandRole(c, rules, deps);
  }
}

/** `/links/<link>/…`: the link must have been made here, for what this route shows, and still be valid. */
async function demandLink(
  c: C,
  { opens }: RouteRules,
  { signed_links }: AdmitDeps,
): Promise<Caller> {
  const [, , text = ""] = c.req.path.split("/");
  const grant = await signed_links?.read(text);
  if (grant?.kind !== opens || grant === undefined)
    throw new AppError("forbidden", "this link opens something else");
  c.set("link", grant);
  const { token_id } = grant;
  return { kind: "link", name: `${grant.kind}, ${grant.mode}`, role: null, token_id };
}

const asksForToken = ({ secrets, tokens }: AdmitDeps): boolean =>
  secrets.api_token !== null || tokens.exist;

/**
 * Sets who calls, and how to check later whether that still holds, because a socket lives longer than its handshake.
 */
async function know(c: C, rules: RouteRules, deps: AdmitDeps): Promise<void> {
  const shown = { bearer: tokenOf(c, rules), cookie: getCookie(c, SESSION_COOKIE) };
  const caller = await identify(shown, deps);
  c.set("caller", NOBODY);
  await refuseWhileWaiting(c, caller, deps, "header");
  c.set("caller", caller);
  if (caller.kind !== "nobody")
    c.set("still", async () => (await identify(shown, deps)).kind !== "nobody");
}

/** A token in the header, or in the query of a route that takes it there (rules/cdp#tokens). */
const tokenOf = (c: C, { token_in_query, token_in_basic }: RouteRules): string | null =>
  bearerOf(c) ??
  (token_in_basic === true ? basicTokenOf(c) : null) ??
  ((token_in_query === true && c.req.query("token")) || null);

/** A password of `Authorization: Basic` that is no token here. */
const passwordGiven = (c: C, { token_in_basic }: RouteRules): boolean =>
  givenPassword(c) !== null && !(token_in_basic === true && basicTokenOf(c) !== null);

interface Shown {
  readonly bearer: string | null;
  readonly cookie: string | undefined;
}

/** `Authorization: Bearer`, or the session of a browser. A caller that shows neither costs no database query. */
async function identify({ bearer, cookie }: Shown, deps: AdmitDeps): Promise<Caller> {
  const caller =
    bearer !== null
      ? await holderOf(bearer, deps)
      : cookie === undefined
        ? null
        : await deps.logins.callerOf(cookie);
  return caller ?? (asksForToken(deps) ? NOBODY : OPEN);
}

/**
 * The password opens what a token opens, except to callers without a token where SVC_API_TOKEN is set: that token
 * guards the password.
 */
const mayGivePassword = (c: C, { secrets }: AdmitDeps): boolean =>
  c.var.caller.kind !== "nobody" || secrets.api_token === null;

/** Lets the administrator through, and what was opened stay open until the password changes. */
async function admitAdministrator(c: C, deps: AdmitDeps): Promise<void> {
  await requireAdmin(deps, c);
  const given = givenPassword(c);
  if (given !== null) c.set("still", () => deps.admin.isPassword(given));
}

async function demandRole(c: C, rules: RouteRules, deps: AdmitDeps): Promise<void> {
  const { caller } = c.var;
  const needed = NEEDED[rules.access] ?? "viewer";
  if (holds(caller, needed)) return;
  if (rules.also === "worker" && (await isWorker(c, deps))) return c.set("caller", WORKER);
  if (passwordGiven(c, rules) && mayGivePassword(c, deps)) return admitAdministrator(c, deps);
  throw caller.role === null
    ? await refusalOf(c, tokenOf(c, rules), deps, "header")
    : roleMissing(needed, caller);
}

async function demandAdmin(c: C, rules: RouteRules, deps: AdmitDeps): Promise<void> {
  const { caller } = c.var;
  if (caller.role === "admin") return;
  if (!mayGivePassword(c, deps)) throw await refusalOf(c, tokenOf(c, rules), deps, "header");
  if (ofInstallation(caller)) {
    const until = rules.until_password !== undefined && !(await deps.admin.isSet());
    return until ? undefined : admitAdministrator(c, deps);
  }
  if (givenPassword(c) !== null) return admitAdministrator(c, deps);
  throw caller.role === null
    ? await refusalOf(c, tokenOf(c, rules), deps, "header")
    : roleMissing("admin", caller);
}

/**
 * For calls of submitters' routes that only operators may make, recognised by the body (`operator_for` of their route).
 * It comes before `idempotent`, which repeats what an operator was answered.
 */
export async function operatorsOnly(c: C, deps: Parameters<typeof requireAdmin>[0]): Promise<void> {
  const { caller } = c.var;
  if (holds(caller, "operator")) return;
  if (givenPassword(c) !== null) return requireAdmin(deps, c);
  throw roleMissing("operator", caller);
}

/**
 * For calls that run commands or read secrets, in handlers that recognise them by the body (`admin_for` of their
 * route). SVC_API_TOKEN, callers on the open LAN, tokens of the role admin and the administrator may make them.
 */
export async function trustedOnly(c: C, deps: Parameters<typeof requireAdmin>[0]): Promise<void> {
  const { caller } = c.var;
  if (ofInstallation(caller) || caller.role === "admin") return;
  if (givenPassword(c) !== null) return requireAdmin(deps, c);
  throw roleMissing("admin", caller);
}
