import type { Context } from "hono";
import { access, type RouteRules } from "#hub/platform/http/access.ts";
import { calledAt } from "#hub/platform/http/called-at.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import type { App } from "#hub/platform/http/new-app.ts";
import type { SocketHandlers } from "#hub/platform/http/socket-handlers.ts";
import { requireUpgrade, upgrade } from "#hub/platform/http/sockets.ts";
import { AppError, errorMessage, notFound } from "#shared/kit/errors.ts";
import { CDP_CLIENT_HEADER, writeCdpClient } from "#shared/protocol/cdp-client.ts";
import type { FleetContext } from "../context.ts";
import { askBridge } from "../sessions/bridge.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { bridgeOf } from "../sessions/registry.ts";
import { cdpSocket } from "../viewer/cdp-relay.ts";
import { dialBridge } from "../viewer/dial.ts";
import { callersAddress } from "./pass-on.ts";

type C = Context<HttpEnv>;

interface CdpMount {
  rules: Record<"socket" | "version" | "list", RouteRules>;
  /** @throws AppError not_found */
  sessionOf(c: C): HubSession;
  /** What else its sockets must do. */
  wrap?: (c: C, handlers: SocketHandlers) => SocketHandlers;
}

/** Chromium's own addresses are the worker's business. */
function withoutAddresses(target: Record<string, unknown>, base: string): Record<string, unknown> {
  const { devtoolsFrontendUrl: _front, webSocketDebuggerUrl, ...rest } = target;
  if (typeof webSocketDebuggerUrl !== "string") return rest;
  const { pathname } = new URL(webSocketDebuggerUrl);
  return {
    ...rest,
    webSocketDebuggerUrl: pathname.startsWith("/devtools/page/") ? base + pathname : base,
  };
}

/** `/sessions/<id>/cdp` of `/sessions/<id>/cdp/json/list/`, as this client reaches it. */
const socketBase = (c: C): string =>
  calledAt(c, "ws") + c.req.path.replace(/\/cdp\/json(\/.*)?$/, "/cdp");

const TARGET = /^(browser|page)$/;

/** A session's DevTools socket, and the discovery endpoints that clients ask first. */
export function mountCdp(
  ctx: Pick<FleetContext, "clock" | "streams" | "config" | "hub_id">,
  app: App,
  at: string,
  { rules, sessionOf, wrap = (_c, handlers) => handlers }: CdpMount,
): void {
  const connect = async (c: C, path: string) => {
    requireUpgrade(c);
    const session = sessionOf(c);
    const bridge = await dialBridge(
      bridgeOf(session),
      `/sessions/${session.session_id}/${path}`,
      "cdp",
      { [CDP_CLIENT_HEADER]: writeCdpClient(c.get("caller").name ?? callersAddress(ctx, c)) },
    );
    try {
      return upgrade(c, wrap(c, cdpSocket(ctx, session, bridge, c.get("caller").name)));
    } catch (err) {
      bridge.close();
      throw err;
    }
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
    if (!TARGET.test(kind) || !/^[A-Za-z0-9-]{1,64}$/.test(id)) throw notFound("target");
    return connect(c, `cdp/devtools/${kind}/${id}`);
  });
  // Playwright asks with a slash at the end, Puppeteer without.
  for (const path of [`${at}/json/version`, `${at}/json/version/`])
    app.get(path, access(rules.version), async (c) => {
      const found = (await discover(c, "version")) as Record<string, unknown>;
      return c.json(withoutAddresses(found, socketBase(c)));
    });
  for (const path of [`${at}/json`, `${at}/json/list`, `${at}/json/list/`])
    app.get(path, access(rules.list), async (c) => {
      const found = (await discover(c, "list")) as Record<string, unknown>[];
      // The browser's own windows are not anyone's pages.
      const pages = found.filter((t) => !/^(chrome|devtools):/.test(String(t.url)));
      return c.json(pages.map((t) => withoutAddresses(t, socketBase(c))));
    });
  app.get(`${at}/json/protocol`, access(rules.list), async (c) =>
    c.json((await discover(c, "protocol")) as object),
  );
}
