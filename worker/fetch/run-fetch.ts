import { abortAfter, type Clock, DeadlineError } from "#shared/clock.ts";
import { errorMessage } from "#shared/errors.ts";
import { humanSize } from "#shared/names.ts";
import type { LinkList } from "#shared/schema/asset.ts";
import type { CaptureReport } from "#shared/schema/job.ts";
import { CdpError } from "../cdp/connection.ts";
import type { JobOutcome, JobRun } from "../lanes/types.ts";
import { harOf } from "../record/har.ts";
import { type Recorder, startRecorder } from "../record/recorder.ts";
import type { Tracked } from "../record/targets.ts";
import { injectCookies } from "./cookies.ts";
import { createGuard } from "./guard.ts";
import { shortUrl } from "./net-errors.ts";
import { openPage } from "./open-page.ts";
import { type PopupWatch, watchPopups } from "./popups.ts";
import { checkSecrets, runRecipes } from "./recipes.ts";
import { scrollPage } from "./scroll.ts";
import { snapshotPage } from "./snapshot.ts";
import { JobTrouble, type TroubleWatch, watchTrouble } from "./trouble.ts";
import { collectVideos, startPlayers } from "./videos.ts";

export interface FetchSettings {
  clock: Clock;
  /** Bytes that bodies of one run may take on this machine's disk at a time. */
  spool_max_bytes: number;
  /** `loopback` and `private` when jobs must not open them. */
  navigation_block: readonly string[];
  /** The lanes' CDP, VNC and viewer ports: never opened by a job. */
  own_ports: readonly number[];
  /** Where yt-dlp and ffmpeg are looked for; the usual places by default. */
  program_path?: string;
}

/** Reads under way when a job ends: they come from memory, so this is for huge ones on a busy machine. */
const DRAIN_MS = 20_000;
/** What a cancelled job may still take, drain and uploads together (at most 2 s). */
const CANCEL_DRAIN_MS = 300;
const CANCEL_FLUSH_MS = 1_500;
/** Uploads of a job that ran: the sink retries within this. */
const FLUSH_MS = 600_000;

/** One fetch job on its way: what the stages share. */
export interface FetchContext {
  run: JobRun;
  settings: FetchSettings;
  trouble: TroubleWatch;
  popups: PopupWatch;
  recorder: Recorder;
  outcome: JobOutcome;
  /** Clock time at which `max_wait_seconds` are over. */
  deadline: number;
}

/**
 * Runs a fetch job: opens the URL, waits as the options say (fleet spec §2.2), and hands everything the browser received
 * to the sink. Never throws for what a page or a browser does: that is a `failed` outcome with a sentence.
 */
export async function runFetch(run: JobRun, settings: FetchSettings): Promise<JobOutcome> {
  const outcome: JobOutcome = {
    status: "completed",
    error: null,
    stage: "navigate",
    http_status: null,
    final_url: null,
    title: null,
    capture: null,
  };
  const trouble = watchTrouble(run, settings.clock);
  const popups = watchPopups(run.extras.popup_policy, run.browser.connection, run.story);
  const deadline = settings.clock.now() + run.options.max_wait_seconds * 1_000;
  let recorder: Recorder | null = null;
  try {
    const guard = createGuard(settings);
    const [refusal, started] = await trouble.race(
      Promise.all([
        guard.checkUrl(run.url),
        record(run, settings, { trouble, popups, outcome, guard }),
      ]),
    );
    recorder = started;
    if (refusal) throw new JobTrouble(`refused to open ${shortUrl(run.url)}: ${refusal}`);
    await visit({ run, settings, trouble, popups, recorder, outcome, deadline });
  } catch (err) {
    if (err instanceof CdpError && err.gone) await trouble.explainGone();
    Object.assign(outcome, { status: "failed", error: failureMessage(err, trouble, run) });
    run.story.log("error", outcome.stage ?? "navigate", outcome.error ?? "failed");
  }
  if (recorder) outcome.capture = await collect(run, recorder, trouble, outcome, settings);
  if (outcome.status === "completed") outcome.stage = "done";
  return outcome;
}

type Guard = ReturnType<typeof createGuard>;

function record(
  run: JobRun,
  settings: FetchSettings,
  {
    trouble,
    popups,
    outcome,
    guard,
  }: { trouble: TroubleWatch; popups: PopupWatch; outcome: JobOutcome; guard: Guard },
): Promise<Recorder> {
  const { browser, options, sink, story } = run;
  return startRecorder({
    connection: browser.connection,
    dirs: browser.dirs,
    capture: browser.capture,
    tab: run.tab,
    bodies: options.capture_assets,
    min_size: options.min_asset_size_bytes,
    spool_max_bytes: settings.spool_max_bytes,
    clock: settings.clock,
    store: (meta, body) => sink.putAsset(meta, body),
    isRefused: (address, port, url, document) => {
      const reason = guard.refusal(address, port);
      if (reason && document) trouble.fail(`refused to open ${shortUrl(url)}: ${reason}`);
      return reason !== null;
    },
    onDocumentRequest: (url) => {
      const reason = guard.refusalOfUrl(url);
      if (reason) trouble.fail(`refused to open ${shortUrl(url)}: ${reason}`);
    },
    pauses: popups.pauses,
    onTarget: (target) => {
      popups.watch(target);
      trouble.watch(target);
    },
    onDocument: (target, response) => {
      if (!trouble.isMain(target)) return;
      outcome.http_status = response.status;
      outcome.final_url = response.url;
      story.log(
        "info",
        "navigate",
        `${response.status} ${response.mimeType} from ${shortUrl(response.url)}`,
        {
          address: response.remoteIPAddress,
        },
      );
    },
    onNote: (level, message, fields) => story.log(level, "capture", message, fields),
  });
}

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
  Math.max(0, deadline - settings.clock.now());

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

/** page.html, links.json, title and final URL. A page that is mute while the browser answers is hung. */
async function savePage(ctx: FetchContext, main: Tracked): Promise<void> {
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
async function keepPage(ctx: FetchContext, main: Tracked): Promise<void> {
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

function failureMessage(err: unknown, trouble: TroubleWatch, run: JobRun): string {
  if (run.signal.aborted) return "the job was cancelled while it ran";
  if (trouble.trouble) return trouble.trouble.message;
  return err instanceof JobTrouble ? err.message : `the job broke off: ${errorMessage(err)}`;
}

/** Reads what is still to be read, closes popups, waits for the uploads, and counts. */
async function collect(
  run: JobRun,
  recorder: Recorder,
  trouble: TroubleWatch,
  outcome: JobOutcome,
  settings: FetchSettings,
): Promise<CaptureReport> {
  const { story, sink, browser } = run;
  const done = new AbortController();
  const within = (ms: number) => abortAfter(settings.clock, ms, done.signal);
  let cancelled = run.signal.aborted;
  if (outcome.status === "completed") outcome.stage = "upload";
  recorder.seal();
  const reads = recorder.pendingReads();
  if (reads > 0) story.log("info", "upload", `${reads} bodies still to be read`);
  await recorder.drain(
    cancelled ? within(CANCEL_DRAIN_MS) : AbortSignal.any([run.signal, within(DRAIN_MS)]),
  );
  if (outcome.status === "completed" && run.options.download_video) {
    await collectVideos(run, recorder, trouble, outcome, settings);
    cancelled = run.signal.aborted;
    if (outcome.status === "completed") outcome.stage = "upload";
  }
  if (!cancelled) {
    const titleOf = (page_id: string) =>
      trouble.isMain({ target_id: page_id }) ? (outcome.title ?? "") : "";
    const { trace, assetOf } = recorder;
    sink.putDocument("har.json", harOf({ trace, product: browser.product, titleOf, assetOf }));
  }
  const popups = recorder.targets.pages().filter((page) => !trouble.isMain(page));
  for (const popup of popups)
    browser.connection.root.post("Target.closeTarget", { targetId: popup.target_id });
  const { count, bytes } = recorder.stored;
  story.log("info", "upload", `uploading: ${count} assets, ${humanSize(bytes)}`);
  const patience = within(cancelled ? CANCEL_FLUSH_MS : FLUSH_MS);
  const { stored, failed } = await sink.flush(
    cancelled ? patience : AbortSignal.any([run.signal, patience]),
  );
  done.abort();
  for (const { name, reason } of failed)
    story.log("warn", "upload", `${name} was not stored: ${reason}`);
  const report = recorder.report(failed.map(({ name }) => name));
  story.log("info", "upload", `${stored} files stored; ${describeReport(report)}`, {
    capture: report,
  });
  return report;
}

function describeReport({
  seen,
  captured,
  partial,
  lost,
  skipped,
  reasons,
}: CaptureReport): string {
  const parts = [`${captured} of ${seen} bodies whole`];
  if (partial > 0) parts.push(`${partial} in part`);
  if (lost > 0) parts.push(`${lost} lost`);
  if (skipped > 0) parts.push(`${skipped} below min_asset_size_bytes`);
  const why = Object.entries(reasons).map(([reason, count]) => `${reason} ${count}`);
  return why.length > 0 ? `${parts.join(", ")} (${why.join(", ")})` : parts.join(", ");
}
