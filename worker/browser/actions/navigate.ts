import type { Page, Response } from "playwright-core";
import type { SessionActionArgs } from "#shared/protocol/actions/session-actions.ts";
import type { ActionContext, PageActions } from "./context.ts";
import { refused } from "./failure.ts";
import { frameOf } from "./frames.ts";
import { asPlaywright } from "./selectors.ts";

/** Result of every navigation: the status of the answer, or null when no request was made. */
interface Gone {
  status: number | null;
}

const gone = (response: Response | null): Gone => ({ status: response?.status() ?? null });

/** @throws ActionFailure page when the URL is one that no session may open. */
export async function checkUrl(ctx: Pick<ActionContext, "refusal">, url: string): Promise<void> {
  const reason = url === "about:blank" ? null : await ctx.refusal(url);
  if (reason !== null) throw refused(`refused to open ${url}: ${reason}`);
}

async function navigate(ctx: ActionContext, a: SessionActionArgs<"navigate">): Promise<Gone> {
  await checkUrl(ctx, a.url);
  const page = ctx.pages.active();
  try {
    return gone(
      await page.goto(a.url, {
        waitUntil: a.wait_until,
        timeout: ctx.timeout_ms,
        ...(a.referer === undefined ? {} : { referer: a.referer }),
      }),
    );
  } catch (err) {
    await errorPageOf(page, err);
    throw err;
  }
}

const ERROR_PAGE_MS = 1_000;

/**
 * Playwright reports a failed navigation before Chromium's error page is there, which would interrupt the next
 * navigation.
 */
async function errorPageOf(page: Page, err: unknown): Promise<void> {
  if (!(err instanceof Error) || !/net::ERR_(?!ABORTED)/.test(err.message)) return;
  const wait = { timeout: ERROR_PAGE_MS, waitUntil: "commit" } as const;
  await page.waitForURL("chrome-error://chromewebdata/", wait).catch(() => {});
}

const back = async ({ pages, timeout_ms }: ActionContext): Promise<Gone> =>
  gone(await pages.active().goBack({ timeout: timeout_ms }));

const forward = async ({ pages, timeout_ms }: ActionContext): Promise<Gone> =>
  gone(await pages.active().goForward({ timeout: timeout_ms }));

const reload = async (ctx: ActionContext, a: SessionActionArgs<"reload">): Promise<Gone> =>
  gone(await ctx.pages.active().reload({ waitUntil: a.wait_until, timeout: ctx.timeout_ms }));

/** Waits for each of the given conditions, one after the other. */
async function wait(ctx: ActionContext, a: SessionActionArgs<"wait">): Promise<null> {
  const page = ctx.pages.active();
  const since = ctx.clock.monotonic();
  const left = () => Math.max(1, ctx.timeout_ms - (ctx.clock.monotonic() - since));
  if (a.seconds !== undefined) await ctx.clock.sleep(a.seconds * 1_000, ctx.signal);
  if (a.load_state !== undefined) await page.waitForLoadState(a.load_state, { timeout: left() });
  if (a.selector !== undefined) {
    const state = a.state ?? "visible";
    const frame = await frameOf(ctx, a.frame, left());
    await frame.waitForSelector(asPlaywright(a.selector), { state, timeout: left() });
  }
  return null;
}

/** How long a page that has begun to arrive may go on loading before its session counts as open anyway. */
const LOAD_MS = 15_000;

/** Opens a new session's page. @throws what Playwright throws when there is no answer within `timeout_ms`. */
export async function openFirst(page: Page, url: string, timeout_ms: number): Promise<void> {
  const since = performance.now();
  await page.goto(url, { waitUntil: "commit", timeout: timeout_ms });
  const left = Math.max(1, Math.min(LOAD_MS, timeout_ms - (performance.now() - since)));
  await page.waitForLoadState("load", { timeout: left }).catch(() => {});
}

export const NAVIGATION = {
  navigate,
  back,
  forward,
  reload,
  wait,
} satisfies Partial<PageActions>;
