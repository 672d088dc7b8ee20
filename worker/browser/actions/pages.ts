import type { BrowserContext, Page } from "playwright-core";
import type { Viewport } from "#shared/protocol/schema/browser-options.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import { type ConnectedBrowser, connectBrowser, targetOf } from "./connect.ts";
import { refused } from "./failure.ts";

/** The tabs of a session's browser, for its actions. */
export interface Pages {
  readonly context: BrowserContext;
  /** In the order in which they were opened, as far as the connection saw it. */
  all(): Page[];
  /** The tab that actions go to: the first one, until another is selected or it is closed. @throws ActionFailure page */
  active(): Page;
  select(page: Page): void;
  /** Selects the tab of a CDP target, if it exists. */
  selectTarget(target_id: string): Promise<void>;
  /** CDP target id of the active tab; null when none is open. */
  activeTarget(): Promise<string | null>;
  /** Resolves when the connection is over, whether or not that was requested. */
  readonly closed: Promise<void>;
  /** Disconnects from the browser, which keeps running. Idempotent. */
  close(): void;
}

export interface PagesOptions {
  /** Size that every tab gets; null leaves the window's. */
  viewport: Viewport | null;
  /** The tab that is active first; null takes the oldest. */
  target_id: string | null;
  /** Where Playwright may put files; undefined: with the browser's own. */
  artifacts_dir?: string | undefined;
}

/** @throws Error when Playwright cannot connect. */
export async function openPages(browser: LaneBrowser, options: PagesOptions): Promise<Pages> {
  const connected = await connectBrowser(browser, options.artifacts_dir);
  const pages = pagesOf(connected);
  const { viewport, target_id } = options;
  if (viewport) {
    connected.context.on("page", (page) => void page.setViewportSize(viewport).catch(() => {}));
    await Promise.all(pages.all().map((page) => page.setViewportSize(viewport)));
  }
  if (target_id !== null && pages.all().length > 1) {
    const page = await connected.page(target_id).catch(() => null);
    if (page) pages.select(page);
  }
  return pages;
}

function pagesOf({ context, page: pageOf, closed, close }: ConnectedBrowser): Pages {
  const targets = new WeakMap<Page, Promise<string>>();
  let selected: Page | null = null;
  const all = () => context.pages();
  const current = (): Page | null => {
    if (!selected || selected.isClosed()) selected = all()[0] ?? null;
    return selected;
  };
  const knownTarget = (page: Page): Promise<string> => {
    const known = targets.get(page) ?? targetOf(context, page);
    targets.set(page, known);
    known.catch(() => targets.delete(page));
    return known;
  };
  return {
    context,
    all,
    active: () => {
      const page = current();
      if (!page) throw refused("the session has no open tab");
      return page;
    },
    select: (page) => {
      selected = page;
    },
    selectTarget: async (target_id) => {
      selected = (await pageOf(target_id).catch(() => null)) ?? selected;
    },
    activeTarget: async () => {
      const page = current();
      return page ? knownTarget(page) : null;
    },
    closed,
    close,
  };
}
