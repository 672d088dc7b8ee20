import { DeadlineError } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { humanSize } from "#shared/kit/words.ts";
import type { LinkList } from "#shared/protocol/schema/asset.ts";
import { CdpError } from "../cdp/connection.ts";
import type { Tracked } from "../record/targets.ts";
import type { FetchContext } from "./fetch-context.ts";
import { shortUrl } from "./net-errors.ts";
import { snapshotPage } from "./snapshot.ts";
import { BrowserLost } from "./trouble.ts";

/** page.html, links.json, title and final URL. If a page does not hand them over, the job loses only these. */
async function savePage(ctx: FetchContext, main: Tracked): Promise<void> {
  const { run, settings, recorder, outcome } = ctx;
  const frames = recorder.targets
    .all()
    .filter((t) => t.type === "iframe" && t.page?.target_id === main.target_id);
  if (recorder.isNavigating(main)) {
    run.story.log("info", "page", "stopped a navigation that was not answered");
    await main.session.send("Page.stopLoading");
  }
  const snapshot = await snapshotPage(settings.clock, main, frames).catch((err: unknown) =>
    explainMutePage(ctx, main, err),
  );
  if (!snapshot) return;
  const { page, links } = snapshot;
  if (page.url.startsWith("chrome-error:")) {
    warn(ctx, "the page ended on an error of the browser: no page.html");
    return;
  }
  outcome.final_url = page.url;
  outcome.title = page.title;
  ctx.icons.push(...page.icons);
  run.sink.putDocument("page.html", page.html);
  ctx.report.page = "page.html";
  const list: LinkList = { job_id: run.job_id, count: links.length, links };
  run.sink.putDocument("links.json", JSON.stringify(list));
  run.story.log(
    "info",
    "page",
    `saved the page (${humanSize(page.html.length)}) and ${links.length} links`,
  );
}

/**
 * As {@link savePage}. A browser that is lost now costs the job its page.html alone where all bodies were read and nothing
 * else is wanted of it (rules/capture#saved-page).
 */
export async function savePageOrWarn(ctx: FetchContext, main: Tracked): Promise<void> {
  const { trouble, recorder, run } = ctx;
  try {
    await trouble.race(savePage(ctx, main));
  } catch (err) {
    if (err instanceof CdpError && err.gone) await trouble.explainGone();
    const cause = trouble.trouble ?? err;
    const wants_more = run.options.keep_session || run.options.download_video;
    if (!(cause instanceof BrowserLost) || wants_more || recorder.pendingReads() > 0) throw err;
    warn(ctx, `no page.html: ${cause.message}`);
  }
}

/** The page on which a recipe failed shows why; failing to save it must not hide the original error. */
export async function keepPage(ctx: FetchContext, main: Tracked): Promise<void> {
  const { trouble, recorder } = ctx;
  recorder.seal();
  try {
    await trouble.race(savePage(ctx, main));
  } catch (err) {
    warn(ctx, `the page could not be saved: ${errorMessage(err)}`);
  }
}

function warn({ run, report }: FetchContext, message: string): void {
  report.warnings.push(message.slice(0, 1_000));
  run.story.log("warn", "page", message);
}

/** Says what is missing, unless Chromium itself is silent. */
async function explainMutePage(ctx: FetchContext, main: Tracked, err: unknown): Promise<null> {
  const name = shortUrl(main.page?.url ?? ctx.run.url);
  if (err instanceof CdpError && !err.gone) {
    warn(ctx, `no page.html: the page could not be read: ${err.message}`);
    return null;
  }
  if (!(err instanceof DeadlineError)) throw err;
  const { root } = ctx.run.browser.connection;
  await root.send("Browser.getVersion").catch((cause) => {
    if (!(cause instanceof DeadlineError)) throw cause;
    throw new BrowserLost(
      `Chromium sent nothing for ${cause.ms / 1_000} s: submit the job again, and look at the worker's load and memory`,
    );
  });
  warn(
    ctx,
    `no page.html: the page did not answer for ${err.ms / 1_000} s, its scripts or its size keep it busy (${name})`,
  );
  return null;
}
