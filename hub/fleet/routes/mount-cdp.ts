import type { Context } from "hono";
import { access, type RouteRules } from "#hub/platform/http/access.ts";
import { calledAt } from "#hub/platform/http/called-at.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import type { App } from "#hub/platform/http/new-app.ts";
import type { SocketHandlers } from "#hub/platform/http/socket-handlers.ts";
import { requireUpgrade } from "#hub/platform/http/sockets.ts";
import { AppError, errorMessage, notFound } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";
import { askBridge } from "../sessions/bridge.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import type { SessionEndContext } from "../sessions/session-contexts.ts";
import { askOverCdp } from "../viewer/cdp-command.ts";
import { connectCdp, dialCdp } from "./connect-cdp.ts";
import { urlOfNewTarget } from "./new-target.ts";

type C = Context<HttpEnv>;
type Target = Record<string, unknown>;

interface CdpMount {
  rules: Record<"socket" | "version" | "list" | "open" | "activate" | "close", RouteRules>;
  /** @throws AppError not_found */
  sessionOf(c: C): HubSession;
  /** What else its sockets must do. */
  wrap?: (c: C, handlers: SocketHandlers) => SocketHandlers;
}

/** Whoever shows a token in the address of the discovery needs it in the addresses that it finds. */
const tokenQuery = (c: C, { token_in_query }: RouteRules): string => {
  const token = token_in_query === true ? c.req.query("token") : undefined;
  return token === undefined ? "" : `?token=${encodeURIComponent(token)}`;
};

/** Chromium's own addresses are the worker's business. `base` has what its targets follow, `query` what follows them. */
function withoutAddresses(target: Target, base: string, query: string): Target {
  const { devtoolsFrontendUrl: _front, webSocketDebuggerUrl, ...rest } = target;
  if (typeof webSocketDebuggerUrl !== "string") return rest;
  const { pathname } = new URL(webSocketDebuggerUrl);
  const below = pathname.startsWith("/devtools/page/") ? pathname : "";
  return { ...rest, webSocketDebuggerUrl: base + below + query };
}

/** `/sessions/<id>/cdp` of `/sessions/<id>/cdp/json/list/`, as this client reaches it. */
const socketBase = (c: C): string =>
  calledAt(c, "ws") + c.req.path.replace(/\/cdp\/json(\/.*)?$/, "/cdp");

const TARGET = /^(browser|page)$/;
const TARGET_ID = /^[A-Za-z0-9-]{1,64}$/;

/** A session's DevTools socket, and the discovery endpoints that clients ask first. */
export function mountCdp(
  ctx: SessionEndContext & Pick<FleetContext, "config" | "streams">,
  app: App,
  at: string,
  mount: CdpMount,
): void {
  const { rules, sessionOf } = mount;
  const connect = async (c: C, path: string) => {
    requireUpgrade(c);
    return connectCdp(ctx, c, sessionOf(c), { path, wrap: mount.wrap });
  };
  const discover = async (c: C, what: string): Promise<unknown> => {
    const answer = await askBridge(ctx, sessionOf(c), `cdp/json/${what}`);
    return answer.json().catch((err) => {
      throw new AppError("relay_failed", `the browser's answer broke off: ${errorMessage(err)}`);
    });
  };

  app.get(at, access(rules.socket), (c) => connect(c, "cdp"));
  app.get(`${at}/`, access(rules.socket), (c) => connect(c, "cdp"));
  app.get(`${at}/devtools/:kind/:id`, access(rules.socket), (c) => {
    const { kind = "", id = "" } = c.req.param();
    if (!TARGET.test(kind) || !TARGET_ID.test(id)) throw notFound("target");
    return connect(c, `cdp/devtools/${kind}/${id}`);
  });
  // Playwright asks with a slash at the end, Puppeteer without.
  for (const path of [`${at}/json/version`, `${at}/json/version/`])
    app.get(path, access(rules.version), async (c) => {
      const found = (await discover(c, "version")) as Target;
      return c.json(withoutAddresses(found, socketBase(c), tokenQuery(c, rules.version)));
    });
  const pagesOf = async (c: C): Promise<Target[]> => {
    const found = (await discover(c, "list")) as Target[];
    // The browser's own windows are not anyone's pages.
    const pages = found.filter((t) => !/^(chrome|devtools):/.test(String(t.url)));
    return pages.map((t) => withoutAddresses(t, socketBase(c), tokenQuery(c, rules.list)));
  };
  for (const path of [`${at}/json`, `${at}/json/list`, `${at}/json/list/`])
    app.get(path, access(rules.list), async (c) => c.json(await pagesOf(c)));
  app.get(`${at}/json/protocol`, access(rules.list), async (c) =>
    c.json((await discover(c, "protocol")) as object),
  );
  mountTargets(ctx, app, at, { ...mount, pagesOf });
}

/** What Chromium's discovery does with tabs: opens, closes and activates them. */
function mountTargets(
  ctx: Pick<FleetContext, "clock" | "config" | "hub_id">,
  app: App,
  at: string,
  { rules, sessionOf, pagesOf }: CdpMount & { pagesOf: (c: C) => Promise<Target[]> },
): void {
  const ask = async (c: C, method: string, params: Target) =>
    askOverCdp(ctx, await dialCdp(ctx, c, sessionOf(c), "cdp"), method, params);
  const known = async (c: C): Promise<string> => {
    const id = c.req.param("target") ?? "";
    const pages = TARGET_ID.test(id) ? await pagesOf(c) : [];
    if (!pages.some((page) => page.id === id)) throw notFound("target");
    return id;
  };
  app.put(`${at}/json/new`, access(rules.open), async (c) => {
    const url = urlOfNewTarget(c.req.url);
    const { targetId } = await ask(c, "Target.createTarget", { url });
    const page = (await pagesOf(c)).find(({ id }) => id === targetId);
    if (page === undefined) throw new AppError("relay_failed", "the new page closed itself");
    return c.json(page);
  });
  app.get(`${at}/json/activate/:target`, access(rules.activate), async (c) => {
    await ask(c, "Target.activateTarget", { targetId: await known(c) });
    return c.text("Target activated");
  });
  app.get(`${at}/json/close/:target`, access(rules.close), async (c) => {
    await ask(c, "Target.closeTarget", { targetId: await known(c) });
    return c.text("Target is closing");
  });
}
