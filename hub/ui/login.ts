import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { isForThisMachine } from "#hub/platform/access/access.ts";
import type { Logins } from "#hub/platform/access/logins.ts";
import type { Throttle } from "#hub/platform/access/throttle.ts";
import type { Tokens } from "#hub/platform/access/tokens.ts";
import { access } from "#hub/platform/http/access.ts";
import { ADMINISTRATOR, type Caller } from "#hub/platform/http/caller.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonBodyLimit, KNOWN_COOKIE, SESSION_COOKIE } from "#hub/platform/http/guards.ts";
import { isSecure } from "#hub/platform/http/is-secure.ts";
import { toIssues } from "#hub/platform/http/issues.ts";
import { jsonBody } from "#hub/platform/http/json-text.ts";
import type { App } from "#hub/platform/http/new-app.ts";
import { type Administrator, demandPassword } from "#hub/platform/http/require-admin.ts";
import { holderOf, refusalOf, refuseWhileWaiting } from "#hub/platform/http/token-guesses.ts";
import { AppError } from "#shared/kit/errors.ts";

export interface LoginDeps {
  readonly config: {
    readonly mode: string;
    readonly host: string;
    readonly api_token: string | null;
    readonly worker_secret: string | null;
  };
  readonly admin: Administrator;
  readonly tokens: Tokens;
  readonly logins: Logins;
  readonly throttle: Throttle;
}
type C = Context<HttpEnv>;

const secret = z.string().min(1).max(1_000).optional();
/** One of a token, the administrator's password, and the code of the link that dev mode prints. */
const Login = z
  .strictObject({ token: secret, password: secret, code: secret })
  .refine((given) => Object.keys(given).length === 1, "must be one of token, password and code");

/** A browser that was let in is known for as long as browsers keep a cookie. */
const KNOWN_S = 400 * 86_400;

/** Over https the browser never sends them in clear. */
const cookieOptions = (c: C) =>
  ({ httpOnly: true, sameSite: "Strict", path: "/", secure: isSecure(c) }) as const;

/** What a browser is let in with: its own wrong answers slow it down, whatever others behind its router do. */
export function loginRoutes(app: App, deps: LoginDeps): void {
  const { config, tokens, logins, throttle } = deps;
  const judges = { secrets: config, tokens, logins, throttle };
  const isOpen = () => config.api_token === null && !tokens.exist;

  const byToken = async (c: C, token: string): Promise<Caller> => {
    const caller = await holderOf(token, judges);
    if (caller === null) throw await refusalOf(c, token, judges, "login");
    await refuseWhileWaiting(c, caller, judges, "login");
    return caller;
  };
  const byPassword = async (c: C, password: string): Promise<Caller> => {
    await demandPassword(deps, c, password);
    return ADMINISTRATOR;
  };
  const byCode = async (code: string): Promise<Caller> => {
    if (await logins.takeCode(code)) return ADMINISTRATOR;
    throw new AppError("unauthorized", "this link was used already, or is too old");
  };
  /** Who a browser is known as: only a former administrator has its own count for the password. */
  const remember = async (c: C, caller: Caller) => {
    const of = caller.role === "admin" ? "administrator" : "token";
    const had = getCookie(c, KNOWN_COOKIE);
    if (of === "token" && (await logins.readKnown(had, "administrator")) !== null) return;
    const cookie = await logins.knownCookie(of, await logins.readKnown(had, of));
    setCookie(c, KNOWN_COOKIE, cookie, { ...cookieOptions(c), maxAge: KNOWN_S });
  };
  const end = async (c: C) => {
    const before = getCookie(c, SESSION_COOKIE);
    if (before !== undefined) await logins.end(before);
  };

  app.post("/ui/login", access({ access: "public", changes: [] }), jsonBodyLimit, async (c) => {
    const given = Login.safeParse(await jsonBody(c));
    if (!given.success) throw new AppError("invalid", toIssues(given.error.issues, "body"));
    const { token = "", password, code } = given.data;
    // There is nothing to log in to.
    if (given.data.token !== undefined && isOpen()) return c.body(null, 204);
    const caller =
      password !== undefined
        ? await byPassword(c, password)
        : code !== undefined
          ? await byCode(code)
          : await byToken(c, token);
    // For what is recorded of this call.
    c.set("caller", { ...caller, kind: "session" });
    const opened = await logins.open(caller);
    await end(c);
    const expires = new Date(opened.expires_at);
    setCookie(c, SESSION_COOKIE, opened.secret, { ...cookieOptions(c), expires });
    await remember(c, caller);
    return c.body(null, 204);
  });
  app.post("/ui/logout", access({ access: "public", changes: [] }), async (c) => {
    await end(c);
    setCookie(c, SESSION_COOKIE, "", { ...cookieOptions(c), maxAge: 0 });
    return c.body(null, 204);
  });
  /**
   * Who this browser is here; the app's own. `open`: nobody is asked for a token, and other machines reach this one.
   * `workers_open`: a token is asked for, and workers join without a secret.
   */
  app.get("/ui/caller", access({ access: "view" }), (c) => {
    const { kind, name, role } = c.var.caller;
    const workers_open = !isOpen() && config.worker_secret === null;
    const open = isOpen() && !isForThisMachine(config.host);
    return c.json({ kind, name, role, open, workers_open }, 200, {
      "Cache-Control": "no-store",
    });
  });
}
