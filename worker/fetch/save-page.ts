import { DeadlineError } from "#shared/clock.ts";
import { errorMessage } from "#shared/errors.ts";
import { humanSize } from "#shared/names.ts";
import type { LinkList } from "#shared/schema/asset.ts";
import { CdpError } from "../cdp/connection.ts";
import type { Tracked } from "../record/targets.ts";
import { shortUrl } from "./net-errors.ts";
import type { FetchContext } from "./run-visit.ts";
import { snapshotPage } from "./snapshot.ts";
import { JobTrouble } from "./trouble.ts";

/** page.html, links.json, title and final URL. A page that is mute while the browser answers is hung. */
export async function savePage(ctx: FetchContext, main: Tracked): Promise<void> {
  const { run, recorder, outcome } = ctx;
  const frames = recorder.targets
    .all()
    .filter((t) => t.type === "iframe" && t.page?.target_id === main.target_id);
  if (recorder.isNavigating(main)) {
    run.story.log("info", "page", "stopped a navigation that was not answered");
    await main.session.send("Page.stopLoading");
  }
  const { page, links } = await snapshotPage(main, frames).catch((err: unknown) =>
    explainMutePage(ctx, main, err),
  );
  if (page.url.startsWith("chrome-error:")) {
    run.story.log("warn", "page", "the page ended on an error of the browser: no page.html");
    return;
  }
  outcome.final_url = page.url;
  outcome.title = page.title;
  run.sink.putDocument("page.html", page.html);
  const list: LinkList = { job_id: run.job_id, count: links.length, links };
  run.sink.putDocument("links.json", JSON.stringify(list));
  run.story.log(
    "info",
    "page",
    `saved the page (${humanSize(page.html.length)}) and ${links.length} links`,
  );
}

/** The page on which a recipe failed shows why; a page that cannot be saved any more does not hide that. */
export async function keepPage(ctx: FetchContext, main: Tracked): Promise<void> {
  const { trouble, recorder, run } = ctx;
  recorder.seal();
  try {
    await trouble.race(savePage(ctx, main));
  } catch (err) {
    run.story.log("warn", "page", `the page could not be saved: ${errorMessage(err)}`);
  }
}

async function explainMutePage(ctx: FetchContext, main: Tracked, err: unknown): Promise<never> {
  if (err instanceof CdpError && !err.gone)
    throw new JobTrouble(`the page could not be read: ${err.message}`);
  if (!(err instanceof DeadlineError)) throw err;
  const { root } = ctx.run.browser.connection;
  await root.send("Browser.getVersion", undefined, { timeout_ms: 2_000 }).catch(() => {
    throw new JobTrouble("Chromium stopped answering: submit the job again");
  });
  root.post("Target.closeTarget", { targetId: main.target_id });
  throw new JobTrouble(
    `the page hung: its scripts kept it busy and it did not answer for ${err.ms / 1_000} s, so it was closed; ` +
      `what it had loaded is kept (${shortUrl(main.page?.url ?? ctx.run.url)})`,
  );
}
