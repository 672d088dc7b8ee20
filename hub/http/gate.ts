import type { Context, MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import { AppError } from "#shared/errors.ts";
import { sameSecret } from "#shared/secret.ts";
import type { Changes } from "../changes.ts";
import type { SignedLinks } from "../links/signed-links.ts";
import { type Owner, type RouteRules, rulesOf } from "./access.ts";
import { ADMINISTRATOR, API_TOKEN, type Caller, NOBODY, OPEN, WORKER } from "./caller.ts";
import type { HttpEnv } from "./env.ts";
import { bearerOf, checkToken, TOKEN_COOKIE } from "./guards.ts";
import { type OriginRule, refuseForeignOrigin } from "./origins.ts";
import { type Administrator, requireAdmin } from "./require-admin.ts";

type C = Context<HttpEnv>;

/** Read at each call: both may change while the hub runs, and what is null is not asked for. */
export interface Secrets {
  readonly api_token: string | null;
  readonly worker_secret: string | null;
}

export interface GateDeps {
  readonly secrets: Secrets;
  readonly admin: Administrator;
  readonly origins: OriginRule;
  readonly changes: Pick<Changes, "touch">;
  /** Absent where no route has access `link`. */
  readonly signed_links?: Pick<SignedLinks, "read"> | undefined;
  /** The answer of another hub, when that alone can give one; absent where there are no others. */
  readonly passOn?: ((c: C, owner: Owner) => Promise<Response | null>) | undefined;
}

/** What no route knows is shown to nobody without the token. */
const UNKNOWN: RouteRules = { access: "view" };

/**
 * The one place where the rules of routes (`access.ts`) are acted on, before anything else of a route: who calls
 * (`c.var.caller`) and whether it may, then which hub answers, and afterwards who is told of it.
 */
export const gate = (deps: GateDeps): MiddlewareHandler<HttpEnv> =>
  async function routeGate(c, next) {
    const rules = rulesOf(c) ?? UNKNOWN;
    c.set("caller", NOBODY);
    await refuseForeignOrigin(c, rules, deps.origins);
    c.set("caller", await admit(c, rules, deps));
    const passed = rules.owner && (await deps.passOn?.(c, rules.owner));
    if (passed) c.res = passed;
    else await next();
    if (rules.changes && c.res.status < 400)
      for (const topic of rules.changes) deps.changes.touch(topic);
  };

/**
 * Who calls, and may. @throws AppError unauthorized, what an administrator's wrong password is answered with, or what a link
 * is refused with.
 */
async function admit(c: C, rules: RouteRules, deps: GateDeps): Promise<Caller> {
  const { secrets, admin } = deps;
  switch (rules.access) {
    case "public":
    case "capability":
      return secrets.api_token === null ? OPEN : NOBODY;
    case "link":
      return demandLink(c, rules, deps);
    case "worker":
      if (rules.proof === undefined) demandWorker(c, secrets);
      return WORKER;
    case "admin": {
      const caller = demandToken(c, secrets);
      if (rules.until_password !== undefined && !(await admin.isSet())) return caller;
      await requireAdmin(admin, c);
      return ADMINISTRATOR;
    }
    default:
      return demandToken(c, secrets);
  }
}

/** `Authorization: Bearer`, or the cookie of a browser that gave the token: pictures and sockets of pages carry no header. */
function demandToken(c: C, { api_token }: Secrets): Caller {
  if (api_token === null) return OPEN;
  const bearer = bearerOf(c);
  checkToken(bearer ?? getCookie(c, TOKEN_COOKIE) ?? null, api_token);
  return bearer === null ? { ...API_TOKEN, kind: "session" } : API_TOKEN;
}

/** Only who knows the secret, where there is one, may speak as a worker: there is one wherever there is a token. */
function demandWorker(c: C, { worker_secret }: Secrets): void {
  if (!sameSecret(c.req.header("x-worker-secret") ?? "", worker_secret ?? ""))
    throw new AppError("unauthorized", "bad worker secret");
}

/** `/links/<link>/…`: it must have been made here, for what this route shows, and not be over. */
async function demandLink(
  c: C,
  { opens }: RouteRules,
  { signed_links }: GateDeps,
): Promise<Caller> {
  const [, , text = ""] = c.req.path.split("/");
  const grant = await signed_links?.read(text);
  if (grant?.kind !== opens || grant === undefined)
    throw new AppError("forbidden", "this link opens something else");
  c.set("link", grant);
  return { kind: "link", name: `${grant.kind}, ${grant.mode}`, role: null, token_id: null };
}
