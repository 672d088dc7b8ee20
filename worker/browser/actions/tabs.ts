import type { Page } from "playwright-core";
import type { SessionActionArgs } from "#shared/protocol/actions/session-actions.ts";
import type { Tab } from "#shared/protocol/schema/session.ts";
import type { ActionContext, PageActions } from "./context.ts";
import { ActionFailure } from "./failure.ts";
import { checkUrl } from "./navigate.ts";

/** A hung tab never answers with its title. */
const TITLE_MS = 1_000;

/** The open tabs, oldest first. Popups are among them, and become active only through `tab select`. */
export async function listTabs({ pages, clock }: ActionContext): Promise<Tab[]> {
  const all = pages.all();
  const active = all.length > 0 ? pages.active() : null;
  return Promise.all(
    all.map(async (page, index) => {
      const late = new AbortController();
      const title = await Promise.race([
        page.title().catch(() => ""),
        clock.sleep(TITLE_MS, late.signal).then(() => ""),
      ]);
      late.abort();
      return { index, url: page.url(), title, active: page === active };
    }),
  );
}

/** Opens, closes or selects a tab; the result is the list afterwards. */
async function changeTab(ctx: ActionContext, a: SessionActionArgs<"tab">): Promise<Tab[]> {
  switch (a.op) {
    case "new":
      await openTab(ctx, a.url);
      break;
    case "close":
      await closeTab(ctx, a.index);
      break;
    case "select": {
      const page = tabAt(ctx, a.index);
      await page.bringToFront();
      ctx.pages.select(page);
      break;
    }
  }
  return listTabs(ctx);
}

async function openTab(ctx: ActionContext, url = "about:blank"): Promise<void> {
  await checkUrl(ctx, url);
  const page = await ctx.pages.context.newPage();
  ctx.pages.select(page);
  if (url !== "about:blank") await page.goto(url, { timeout: ctx.timeout_ms });
}

async function closeTab(ctx: ActionContext, index: number | undefined): Promise<void> {
  const page = index === undefined ? ctx.pages.active() : tabAt(ctx, index);
  // The browser ends with its last tab, and the session with it.
  if (ctx.pages.all().length === 1) await ctx.pages.context.newPage();
  await page.close();
}

function tabAt({ pages }: ActionContext, index: number | undefined): Page {
  const all = pages.all();
  const page = index === undefined ? undefined : all[index];
  if (page) return page;
  const message =
    index === undefined
      ? "index: is required"
      : `index: there is no tab ${index}, there are ${all.length}`;
  throw new ActionFailure("invalid", { name: "Error", message });
}

export const TABS = {
  tabs: listTabs,
  tab: changeTab,
} satisfies Partial<PageActions>;
