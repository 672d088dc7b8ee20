import type { Page } from "playwright-core";
import type { Clock } from "#shared/kit/clock.ts";
import { RunReset } from "#shared/protocol/link/messages.ts";
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import { checkUrl, openFirst } from "../actions/navigate.ts";
import type { Pages } from "../actions/pages.ts";
import { setCookies } from "../fetch/cookies.ts";
import type { Live } from "./live.ts";

/** Limit of origins whose storage is cleared; a script that visited more was crawling the web, not using a site. */
const MAX_ORIGINS = 500;

/** A page in a loop never answers. */
const ANSWER_MS = 3_000;

interface ResetCall {
  args: Record<string, unknown>;
  timeout_ms: number;
}

/**
 * The hub's call between two attempts of a script: it opens the job's URL again, and with `fresh` leaves no other
 * tab, no cookies except those of the registry, nothing in any storage, and no download in the list. A browser that
 * is not the job's alone, or that has a profile, keeps all of that.
 */
export async function resetRun(
  live: Live,
  { args, timeout_ms }: ResetCall,
  { clock, refusal }: { clock: Clock; refusal(url: string): Promise<string | null> },
): Promise<null> {
  const { url, fresh, cookies } = RunReset.parse(args);
  await checkUrl({ refusal }, url);
  const since = performance.now();
  live.replay?.rewind();
  const pages = await live.pages();
  if (live.script) await live.focus(live.script.target_id);
  const page = await tabOf(pages, clock);
  if (fresh) await startOver(live, pages, page, cookies);
  if (live.trace?.of === "job") await live.trace.again();
  await openFirst(page, url, Math.max(1, timeout_ms - (performance.now() - since)));
  return null;
}

/** The active tab, or a new one to replace a tab that was closed or that the script has left hanging. */
async function tabOf(pages: Pages, clock: Clock): Promise<Page> {
  const page = pages.all().length === 0 ? null : pages.active();
  if (page && (await answers(page, clock))) return page;
  const fresh = await pages.context.newPage();
  pages.select(fresh);
  await page?.close().catch(() => {});
  return fresh;
}

async function answers(page: Page, clock: Clock): Promise<boolean> {
  const over = new AbortController();
  const said = page.evaluate("1").then(
    () => true,
    () => false,
  );
  const late = clock.sleep(ANSWER_MS, over.signal).then(() => false);
  return Promise.race([said, late]).finally(() => over.abort());
}

async function startOver(
  live: Live,
  pages: Pages,
  page: Page,
  cookies: StoredCookie[],
): Promise<void> {
  pages.select(page);
  const others = pages.all().filter((other) => other !== page);
  await Promise.all(others.map((other) => other.close().catch(() => {})));
  // A tab's session storage can be reached only from its own documents.
  const clear = () => sessionStorage.clear();
  await Promise.all(page.frames().map((frame) => frame.evaluate(clear).catch(() => {})));
  await page.goto("about:blank");
  const cdp = await pages.context.newCDPSession(page);
  try {
    for (const origin of originsOf(live))
      await cdp.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
  } finally {
    await cdp.detach().catch(() => {});
  }
  const connection = live.browser()?.connection;
  live.forgetDownloads();
  await connection?.root.send("Storage.clearCookies");
  if (connection) await setCookies(connection, cookies);
}

/** The origins of everything that the session has requested. */
function originsOf(live: Live): string[] {
  const urls = live.network.read(0).entries.map(({ url }) => url);
  const web = urls.filter((url) => /^https?:/.test(url) && URL.canParse(url));
  return [...new Set(web.map((url) => new URL(url).origin))].slice(0, MAX_ORIGINS);
}
