import { abortAfter } from "#shared/clock.ts";
import { humanSize } from "#shared/names.ts";
import type { JobOutcome, JobRun } from "../lanes/types.ts";
import type { Tracked } from "../record/targets.ts";
import { injectCookies } from "./cookies.ts";
import { shortUrl } from "./net-errors.ts";
import { openPage } from "./open-page.ts";
import { checkSecrets, runRecipes } from "./recipes.ts";
import { type FetchContext, type FetchSettings, runVisit } from "./run-visit.ts";
import { keepPage, savePage } from "./save-page.ts";
import { scrollPage } from "./scroll.ts";
import { startPlayers } from "./videos.ts";

/**
 * Runs a fetch job: opens the URL, waits as the options say (fleet spec §2.2), and hands everything the browser received
 * to the sink. Never throws for what a page or a browser does.
 */
export const runFetch = (run: JobRun, settings: FetchSettings): Promise<JobOutcome> =>
  runVisit(run, settings, visit);

/** The stages of a visit, in order; `outcome.stage` names the one under way. */
async function visit(ctx: FetchContext): Promise<void> {
  const { outcome, run, trouble, recorder } = ctx;
  const { options } = run;
  checkSecrets(ctx);
  await trouble.race(injectCookies(run));
  const opened = await openPage(ctx);
  if (opened.kind === "download") return waitForSilence(ctx);
  if (opened.kind === "page") {
    try {
      await runRecipes(ctx, opened.main);
    } catch (err) {
      await keepPage(ctx, opened.main);
      throw err;
    }
  }
  outcome.stage = "settle";
  if (options.settle_seconds > 0) {
    run.story.log("info", "settle", `settling for ${options.settle_seconds} s`);
    await pause(ctx, options.settle_seconds * 1_000);
  }
  if (options.download_video) await pause(ctx, await startPlayers(ctx));
  if (options.scroll) await scroll(ctx, opened.main);
  await waitForSilence(ctx);
  recorder.seal();
  if (opened.kind === "no_page") return;
  outcome.stage = "page";
  await trouble.race(savePage(ctx, opened.main));
}

const remaining = ({ settings, deadline }: FetchContext): number =>
  Math.max(0, deadline - settings.clock.monotonic());

async function pause(ctx: FetchContext, ms: number): Promise<void> {
  const { trouble, settings } = ctx;
  await trouble.race(settings.clock.sleep(Math.min(ms, remaining(ctx)), trouble.signal));
}

async function scroll(ctx: FetchContext, main: Tracked): Promise<void> {
  const { run, recorder, settings, trouble, outcome } = ctx;
  const { scroll_step, scroll_max, scroll_early_after } = run.options;
  outcome.stage = "scroll";
  const done = new AbortController();
  const out_of_time = abortAfter(settings.clock, remaining(ctx), done.signal);
  const signal = AbortSignal.any([trouble.signal, out_of_time]);
  const options = {
    step: scroll_step,
    max: scroll_max,
    early_after_ms: scroll_early_after * 1_000,
  };
  const work = scrollPage(main.session, options, recorder.activity, settings.clock, signal);
  const { pixels, reason } = await trouble.race(work).finally(() => done.abort());
  run.story.log("info", "scroll", `scrolled ${pixels} px: ${reason}`);
}

/** Network silence of `idle_seconds`, within `max_wait_seconds` (fleet spec §2.2). */
async function waitForSilence(ctx: FetchContext): Promise<void> {
  const { run, recorder, settings, trouble, outcome } = ctx;
  const { idle_seconds, max_wait_seconds } = run.options;
  outcome.stage = "idle";
  const done = new AbortController();
  const out_of_time = abortAfter(settings.clock, remaining(ctx), done.signal);
  const signal = AbortSignal.any([trouble.signal, out_of_time]);
  const silence = recorder.activity.idle(idle_seconds * 1_000, signal);
  await trouble.race(silence).finally(() => done.abort());
  const { count, bytes } = recorder.stored;
  const so_far = `${count} bodies, ${humanSize(bytes)} so far`;
  const stuck = recorder.openUrls();
  if (stuck.length > 0) {
    const names = stuck
      .slice(0, 5)
      .map((url) => shortUrl(url))
      .join(", ");
    run.story.log("info", "idle", `no longer waiting for ${stuck.length} requests: ${names}`);
  }
  if (!out_of_time.aborted)
    run.story.log("info", "idle", `network silent for ${idle_seconds} s: ${so_far}`);
  else
    run.story.log(
      "warn",
      "idle",
      `max_wait_seconds (${max_wait_seconds} s) are over with ${recorder.activity.open()} requests open: ${so_far}`,
    );
}
