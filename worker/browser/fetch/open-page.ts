import { DeadlineError } from "#shared/kit/clock.ts";
import { CdpError, type Protocol } from "../cdp/connection.ts";
import type { Tracked } from "../record/targets.ts";
import type { FetchContext } from "./fetch-context.ts";
import { describeNetError, shortUrl } from "./net-errors.ts";
import { JobTrouble } from "./trouble.ts";

/** A page to capture, a URL that was a file, or an answer without a page (204, an error without a body). */
export type Opened = { kind: "page" | "download" | "no_page"; main: Tracked };

/** Failed navigations that had an answer: the job completes with its status. */
const ANSWERED: Record<string, string | undefined> = {
  "net::ERR_HTTP_RESPONSE_CODE_FAILURE": "with an empty body",
  "net::ERR_INVALID_AUTH_CREDENTIALS": "asks for a user name and a password",
};

/** How long an aborted navigation may take to turn out to be a download. */
const DOWNLOAD_GRACE_MS = 1_000;

/** The job's page before anything is opened in it, with its network in view. */
export async function blankPage(ctx: FetchContext): Promise<Tracked> {
  const { trouble } = ctx;
  const main = await trouble.race(findPage(ctx));
  trouble.setMain(main);
  ctx.popups.setMain(main);
  // A new renderer starts from what the old one has confirmed: navigating earlier lost the first 14 requests of a page.
  await trouble.race(main.ready);
  // The page would be shown, but nothing of it captured.
  if (main.unseen instanceof CdpError) throw main.unseen;
  if (main.unseen)
    throw new JobTrouble(
      `Chromium did not show the network of its page (${main.unseen.message}): submit the job again`,
    );
  return main;
}

/** Opens the job's URL and waits for its load event (rules/capture#opening-the-page). */
export async function openPage(ctx: FetchContext): Promise<Opened> {
  const { run, trouble, settings, outcome } = ctx;
  const { story, options } = run;
  const main = await blankPage(ctx);
  const loaded = Promise.withResolvers<void>();
  main.session.on("Page.loadEventFired", () => loaded.resolve());

  const started = settings.clock.monotonic();
  ctx.deadline = started + options.max_wait_seconds * 1_000;
  const elapsed = () => settings.clock.monotonic() - started;
  story.log("info", "navigate", `opening ${shortUrl(run.url)}`);
  const answer = await trouble.race(navigate(ctx, main));
  if (answer.errorText) return explainFailure(ctx, main, answer);

  outcome.stage = "wait";
  const patience = Math.min(options.wait_seconds, options.max_wait_seconds) * 1_000 - elapsed();
  const timer = new AbortController();
  const in_time = await trouble.race(
    Promise.race([
      loaded.promise.then(() => true),
      settings.clock.sleep(Math.max(0, patience), timer.signal).then(() => false),
    ]),
  );
  timer.abort();
  if (in_time) story.log("info", "wait", `load event after ${elapsed()} ms`, { ms: elapsed() });
  else
    story.log(
      "warn",
      "wait",
      `no load event within ${options.wait_seconds} s: going on with what there is`,
    );
  return { kind: "page", main };
}

/** The blank page the browser started with, or a new one. */
async function findPage({ recorder, run }: FetchContext): Promise<Tracked> {
  const { tab } = run;
  const own = recorder.targets.pages().find(({ target_id }) => target_id === tab?.target_id);
  if (own) return own;
  if (tab) throw new JobTrouble("the job's tab was closed before it began: submit the job again");
  const blank = () => recorder.targets.pages().find(({ page }) => page?.url === "about:blank");
  const first = blank();
  if (first) return first;
  const { targetId } = await run.browser.connection.root.send("Target.createTarget", {
    url: "about:blank",
  });
  // The attach event comes before the answer.
  const made = recorder.targets.pages().find((page) => page.target_id === targetId);
  if (!made) throw new JobTrouble("Chromium opened no page: submit the job again");
  return made;
}

/** What a page may need to answer on the shortest wait. */
const SHORTEST_WAIT_MS = 1_000;

/** The server has `wait_seconds` to answer, from the moment when the browser sends the request. */
async function navigate(ctx: FetchContext, main: Tracked): Promise<Protocol.Page.NavigateResponse> {
  const { run, settings, trouble, recorder } = ctx;
  const { referer, wait_seconds, max_wait_seconds } = run.options;
  const wait_ms = Math.max(SHORTEST_WAIT_MS, Math.min(wait_seconds, max_wait_seconds) * 1_000);
  const done = new AbortController();
  const answer = main.session.send(
    "Page.navigate",
    // Send the whole referer, as requested: the default policy would cut it to its origin.
    { url: run.url, ...(referer && { referrer: referer, referrerPolicy: "unsafeUrl" }) },
    { timeout_ms: max_wait_seconds * 1_000 + wait_ms },
  );
  const signal = AbortSignal.any([done.signal, trouble.signal]);
  const late = recorder.asked.then(() => settings.clock.sleep(wait_ms, signal)).then(() => null);
  const told = await Promise.race([answer, late])
    .catch((err) => {
      if (!(err instanceof DeadlineError)) throw err;
      return null;
    })
    .finally(() => done.abort());
  if (told) return told;
  answer.catch(() => {});
  // In a browser that is kept, the next visit would wait for it too.
  main.session.post("Page.stopLoading");
  const option = wait_seconds < max_wait_seconds ? "wait_seconds" : "max_wait_seconds";
  throw new JobTrouble(
    `could not open ${shortUrl(run.url)}: no answer within ${wait_ms / 1_000} s: raise ${option} or check the server`,
  );
}

async function explainFailure(
  ctx: FetchContext,
  main: Tracked,
  answer: Protocol.Page.NavigateResponse,
): Promise<Opened> {
  const { run, outcome, recorder } = ctx;
  const error = answer.errorText ?? "";
  if (error === "net::ERR_ABORTED") {
    if (answer.isDownload || (await beginsDownload(ctx))) {
      outcome.final_url ??= run.url;
      const stored = run.options.capture_assets
        ? ""
        : ", not stored because capture_assets is false";
      run.story.log("info", "navigate", `the URL is a download, not a page${stored}`);
      return { kind: "download", main };
    }
    if (outcome.http_status !== null) {
      run.story.log("info", "navigate", `the answer (${outcome.http_status}) has no page`);
      return { kind: "no_page", main };
    }
    if (recorder.activity.begun > 1) return { kind: "page", main };
  }
  if (outcome.http_status !== null && ANSWERED[error]) {
    run.story.log("warn", "navigate", `HTTP ${outcome.http_status} ${ANSWERED[error]}`);
    return { kind: "no_page", main };
  }
  throw new JobTrouble(describeNetError(error, failedUrl(ctx), run.browser.gate));
}

/** Where the navigation ended: a redirect may have led elsewhere. */
const failedUrl = ({ run, recorder }: FetchContext): string =>
  recorder.trace.entries.findLast(({ type, error }) => type === "Document" && error !== null)
    ?.url ?? run.url;

async function beginsDownload({ recorder, settings, trouble }: FetchContext): Promise<boolean> {
  const until = settings.clock.monotonic() + DOWNLOAD_GRACE_MS;
  while (
    recorder.downloads.count === 0 &&
    settings.clock.monotonic() < until &&
    !trouble.signal.aborted
  )
    await settings.clock.sleep(25, trouble.signal);
  return recorder.downloads.count > 0;
}
