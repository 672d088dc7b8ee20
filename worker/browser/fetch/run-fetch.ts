import { abortAfter } from "#shared/kit/clock.ts";
import { counted, humanSize } from "#shared/kit/words.ts";
import type { JobOutcome, JobRun } from "../lanes/lane-browser.ts";
import type { OpenRequest } from "../record/recorder.ts";
import type { Tracked } from "../record/targets.ts";
import { injectCookies } from "./cookies.ts";
import type { FetchContext, FetchSettings } from "./fetch-context.ts";
import { shortUrl } from "./net-errors.ts";
import { openPage } from "./open-page.ts";
import { watchPulse } from "./pulse.ts";
import { checkSecrets, runRecipes } from "./recipes.ts";
import { runVisit } from "./run-visit.ts";
import { keepPage, savePageOrWarn } from "./save-page.ts";
import { scrollPage } from "./scroll.ts";
import { startPlayers } from "./videos.ts";

/**
 * Runs a fetch job: opens the URL, waits as the options say (rules/capture#order-of-a-fetch-job), and hands everything the
 * browser received to the sink. Never throws because of what a page or a browser does.
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
  await savePageOrWarn(ctx, opened.main);
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

/**
 * Network silence of `idle_seconds`, within `max_wait_seconds` (rules/capture#network-silence), which begins when the
 * page could have made requests: after its load, and while its scripts let it answer.
 */
async function waitForSilence(ctx: FetchContext): Promise<void> {
  const { run, recorder, settings, trouble, outcome } = ctx;
  const { activity } = recorder;
  const quiet_ms = run.options.idle_seconds * 1_000;
  outcome.stage = "idle";
  const done = new AbortController();
  const out_of_time = abortAfter(settings.clock, remaining(ctx), done.signal);
  const signal = AbortSignal.any([trouble.signal, out_of_time, done.signal]);
  const pulse = watchPulse(
    {
      clock: settings.clock,
      targets: recorder.targets.all,
      isNavigating: recorder.isNavigating,
      onAwake: activity.touch,
    },
    quiet_ms,
    signal,
  );
  const silence = activity.idle(quiet_ms, signal, pulse.answered);
  await trouble.race(silence).finally(() => done.abort());
  tellSilence(ctx, pulse.mute(), out_of_time.aborted);
}

const BROUGHT_NOTHING: Record<OpenRequest["progress"], string> = {
  unsent: "not sent by the browser yet",
  sent: "sent and not answered",
  answered: "answered without a byte of their bodies so far",
  unread: "left in the network by their pages",
};

/** Logs what it waited for and what it leaves behind. */
function tellSilence({ run, recorder }: FetchContext, mute: Tracked[], late: boolean): void {
  const { idle_seconds, max_wait_seconds } = run.options;
  const say = (level: "info" | "warn", message: string) => run.story.log(level, "idle", message);
  const { count, bytes } = recorder.stored;
  const so_far = `${counted(count, "body", "bodies")}, ${humanSize(bytes)} so far`;
  const open = recorder.open();
  const running = open.filter(({ received }) => received > 0);
  const waiting = open.filter(({ received }) => received === 0);
  if (running.length > 0) {
    const names = named(running, ({ url, received, total }) => {
      const of = total === null ? "" : ` of ${humanSize(total)}`;
      return `${shortUrl(url)} (${humanSize(received)}${of})`;
    });
    say("warn", `the end of the job cuts ${running.length} running transfers short: ${names}`);
  }
  for (const [progress, words] of Object.entries(BROUGHT_NOTHING)) {
    const same = waiting.filter((request) => request.progress === progress);
    if (same.length === 0) continue;
    const names = named(same, ({ url }) => shortUrl(url));
    say(
      "info",
      `no longer waiting for ${same.length} requests that brought nothing, ${words}: ${names}`,
    );
  }
  if (mute.length > 0) {
    const names = named(mute, ({ type, page }) => `${type} of ${shortUrl(page?.url ?? "")}`);
    say("info", `not waited for what does not answer, busy or blocked: ${names}`);
  }
  if (late) {
    const limit = `max_wait_seconds (${max_wait_seconds} s)`;
    say("warn", `${limit} are over with ${open.length} requests open: ${so_far}`);
  } else say("info", `network silent for ${idle_seconds} s: ${so_far}`);
}

/** The first five. */
const named = <T>(items: readonly T[], name: (item: T) => string): string =>
  items.slice(0, 5).map(name).join(", ");
