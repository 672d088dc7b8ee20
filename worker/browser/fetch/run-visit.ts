import { errorMessage } from "#shared/kit/errors.ts";
import type { Judge } from "#worker/egress/judge.ts";
import { CdpError } from "../cdp/connection.ts";
import type { JobOutcome, JobRun } from "../lanes/lane-browser.ts";
import { type Recorder, startRecorder } from "../record/recorder.ts";
import { addressOf } from "../record/trace-entry.ts";
import { collect } from "./collect.ts";
import type { FetchContext, FetchSettings, PageReport } from "./fetch-context.ts";
import { refusalBehind, shortUrl } from "./net-errors.ts";
import { type PopupWatch, watchPopups } from "./popups.ts";
import { JobTrouble, type TroubleWatch, watchTrouble } from "./trouble.ts";
import { factsOf, judgeOf, type NarrowedRun, narrowFor } from "./way-out.ts";

/**
 * One visit of a job's URL with everything recorded: `work` opens the page and does the job's work on it, between the
 * start of the recorder and the upload of what the browser received. Never throws because of what a page or a browser
 * does: that is a `failed` outcome with a message.
 */
export async function runVisit(
  run: JobRun,
  settings: FetchSettings,
  work: (ctx: FetchContext) => Promise<void>,
): Promise<JobOutcome> {
  const outcome: JobOutcome = {
    status: "completed",
    error: null,
    stage: "navigate",
    http_status: null,
    final_url: null,
    title: null,
    capture: null,
  };
  const report: PageReport = { page: null, warnings: [] };
  const icons: string[] = [];
  const trouble = watchTrouble(run, settings.clock);
  const popups = watchPopups(run.extras.popup_policy, run.browser.connection, run.story);
  const deadline = settings.clock.monotonic() + run.options.max_wait_seconds * 1_000;
  let recorder: Recorder | null = null;
  const guard = judgeOf(run, settings);
  let narrowed: NarrowedRun | null = null;
  try {
    narrowed = narrowFor(run, guard);
    const [refusal, started] = await trouble.race(
      Promise.all([
        guard.checkUrl(run.url),
        record(run, settings, { trouble, popups, outcome, guard }),
      ]),
    );
    recorder = started;
    if (refusal) throw new JobTrouble(`refused to open ${shortUrl(run.url)}: ${refusal}`);
    await work({ run, settings, trouble, popups, recorder, outcome, report, icons, deadline });
  } catch (err) {
    if (err instanceof CdpError && err.gone) await trouble.explainGone();
    Object.assign(outcome, { status: "failed", error: failureMessage(err, trouble, run) });
    run.story.log("error", outcome.stage ?? "navigate", outcome.error ?? "failed");
  }
  try {
    if (recorder)
      outcome.capture = await collect({
        run,
        settings,
        trouble,
        recorder,
        outcome,
        report,
        icons,
        narrowed,
      });
  } finally {
    narrowed?.over();
  }
  if (outcome.status === "completed") outcome.stage = "done";
  return outcome;
}

function record(
  run: JobRun,
  settings: FetchSettings,
  {
    trouble,
    popups,
    outcome,
    guard,
  }: { trouble: TroubleWatch; popups: PopupWatch; outcome: JobOutcome; guard: Judge },
): Promise<Recorder> {
  const { browser, options, sink, story } = run;
  const facts = factsOf(run);
  return startRecorder({
    connection: browser.connection,
    dirs: browser.dirs,
    capture: browser.capture,
    tab: run.tab,
    bodies: options.capture_assets,
    min_size: options.min_asset_size_bytes,
    spool_max_bytes: settings.spool_max_bytes,
    max_download_bytes: run.max_download_bytes,
    clock: settings.clock,
    store: (meta, body) => sink.putAsset(meta, body),
    facts,
    isHeldBack: (error_text, url, document) => {
      const reason = refusalBehind(error_text, url, browser.gate);
      if (reason && document) trouble.fail(`refused to open ${shortUrl(url)}: ${reason}`);
      return reason !== null;
    },
    isRefused: (address, port, url, document) => {
      const reason = guard.refusal(address, port);
      if (reason && document) trouble.fail(`refused to open ${shortUrl(url)}: ${reason}`);
      return reason !== null;
    },
    onDocumentRequest: (url) => {
      const reason = guard.refusalOfUrl(url);
      if (reason) trouble.fail(`refused to open ${shortUrl(url)}: ${reason}`);
    },
    pauses: [...(run.blocks ? [run.blocks] : []), ...popups.pauses],
    logins: {
      own: run.http_login,
      refuses: run.tab === null && options.mode === "fetch" && options.dialog_policy !== "wait",
    },
    stops_blank_windows: run.extras.popup_policy === "block",
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
          address: addressOf(response, facts),
        },
      );
      const asks = Object.keys(response.headers).some((name) => /^www-authenticate$/i.test(name));
      if (response.status === 401 && asks)
        story.log("warn", "navigate", "HTTP 401: it asks for a user name and a password");
    },
    onNote: (level, message, fields) => story.log(level, "capture", message, fields),
  });
}

function failureMessage(err: unknown, trouble: TroubleWatch, run: JobRun): string {
  if (run.signal.aborted) return "the job was cancelled while it ran";
  if (trouble.trouble) return trouble.trouble.message;
  return err instanceof JobTrouble ? err.message : `the job broke off: ${errorMessage(err)}`;
}
