import { join } from "node:path";
import type { Duplex } from "node:stream";
import { isBrowserUi } from "../cdp/browser-ui.ts";
import type { LiveSession } from "../session/live-session.ts";
import { askBrowser, browserPath, dialTarget, relayCdp } from "./cdp.ts";

/** What clients of a session's browser are held to. */
export interface DialRules {
  cdp_port_base: number;
  /** Why a page may not open this URL, as a clause of a sentence; null when it may. */
  refusalOfUrl(url: string): string | null;
}

export interface DialedClient {
  session: LiveSession;
  /** Who it is, for people. */
  by: string | undefined;
}

/** A connection to a target of the browser: gives it to the client, or closes it. */
export interface DialedTarget {
  relay(client: Duplex): void;
  close(): void;
}

/** @throws Error for pages that Chromium does not list: a client could attach to the browser's own UI by its id. */
async function pagePath(port: number, id: string): Promise<string> {
  const listed = (await askBrowser(port, "/json/list")) as {
    id: string;
    type: string;
    url: string;
  }[];
  const target = listed.find((one) => one.id === id);
  if (!target || isBrowserUi(target)) throw new Error("the browser has no such page");
  return `/devtools/page/${id}`;
}

/**
 * Dials one target of the session's browser for a client whose commands are judged (`cdp-guard.ts`). `page_id` null: the
 * browser that runs now.
 * @throws Error when there is no such target or it does not answer in time.
 */
export async function dialSession(
  { cdp_port_base, refusalOfUrl }: DialRules,
  { session, by }: DialedClient,
  page_id: string | null,
): Promise<DialedTarget> {
  const running = session.browser();
  if (!running) throw new Error("the lane has no browser at the moment");
  const port = cdp_port_base + session.lane_idx;
  const path = page_id === null ? await browserPath(port) : await pagePath(port, page_id);
  const browser = await dialTarget(port, path);
  const { root, downloads } = running.dirs;
  const rules = {
    downloads,
    readable: [downloads, join(root, "uploads"), join(root, "inputs")],
    refusalOfUrl,
  };
  return {
    relay: (client) => relayCdp(client, browser, rules, session.clients.join(page_id, by)),
    close: () => void browser.destroy(),
  };
}
