import { abortAfter, type Clock } from "#shared/kit/clock.ts";
import { createMask } from "#shared/kit/secret-forms.ts";
import { counted, humanSize } from "#shared/kit/words.ts";
import type { CaptureReport } from "#shared/protocol/schema/job.ts";
import { SHORTEST_SECRET } from "#shared/recording/masks.ts";
import type { Narrowed, Traffic } from "#worker/egress/gate.ts";
import type { CdpConnection } from "../cdp/connection.ts";
import { harOf } from "../record/har.ts";
import type { Recorder } from "../record/recorder.ts";
import type { FetchContext } from "./fetch-context.ts";
import { takeFinalState, withoutFailed } from "./final-state.ts";
import { shortUrl } from "./net-errors.ts";
import { collectVideos } from "./videos.ts";

/** Reads under way when a job ends come from memory; they are given up when nothing arrives for this long. */
const DRAIN_MS = 20_000;
/** More bytes than the answers to pings: a body is on its way. */
const DRAIN_BYTES = 64 * 1024;
const LONGEST_DRAIN_MS = 300_000;
/** Time a cancelled job may still take, drain and uploads together (at most 2 s). */
const CANCEL_DRAIN_MS = 300;
const CANCEL_FLUSH_MS = 1_500;
/** Time for the uploads of a job that ran: the sink retries within it. */
const FLUSH_MS = 600_000;

/** Names what is not captured, and what nobody knows of. */
function tellMissing({
  run: { story },
  recorder,
  outcome,
  report: page_report,
}: Pick<FetchContext, "run" | "recorder" | "outcome" | "report">): void {
  const late = recorder.late();
  if (late.length > 0) {
    const count = `${late.length} requests began after the wait was over and are not captured`;
    story.log("warn", "upload", `${count}: ${namesOf(late)}`);
  }
  const tellUnanswered = (urls: readonly string[], words: string) => {
    if (urls.length === 0) return;
    const text = `${urls.length} requests were ${words} when the job ended: ${namesOf(urls)}`;
    story.log("warn", "capture", text);
    if (outcome.status === "completed") page_report.warnings?.push(text);
  };
  const blindness = outcome.status === "completed" ? recorder.blindness() : null;
  if (blindness && page_report.warnings) {
    const text = `the page answered ${outcome.http_status}, and no body of it was seen`;
    page_report.warnings.push(text);
    story.log("warn", "capture", text, blindness);
  }
  const { sent, unsent } = recorder.unanswered();
  tellUnanswered(sent, "sent, and nobody answered: a slow server, or one that asks for a password");
  tellUnanswered(unsent, "still waiting in the browser, unsent");
}

/** What the browser has requested by now. */
function harOfVisit({
  run,
  recorder,
  trouble,
  outcome,
}: Pick<FetchContext, "run" | "recorder" | "trouble" | "outcome">): string {
  const titleOf = (page_id: string) =>
    trouble.isMain({ target_id: page_id }) ? (outcome.title ?? "") : "";
  const { trace, assetOf } = recorder;
  const { http_login, extras } = run;
  const secrets = [...Object.values(extras.secrets), ...(http_login ? [http_login.password] : [])];
  const mask = createMask(secrets, { shortest: SHORTEST_SECRET }).text;
  return harOf({ trace, product: run.browser.product, titleOf, assetOf, mask });
}

/** How long bodies are waited for that are being read when a capture is to be kept in the middle of its visit. */
const READS_MS = 10_000;
const READS_LOOK_MS = 100;

/**
 * Stores what the visit has captured by now, so that it can be replayed while the visit goes on (rules/scripts#proof-in-replay).
 * The end of the visit replaces it by the whole.
 */
export async function keepSoFar(ctx: FetchContext): Promise<void> {
  const { run, recorder, trouble, settings } = ctx;
  const { clock } = settings;
  const until = clock.monotonic() + READS_MS;
  while (recorder.pendingReads() > 0 && clock.monotonic() < until && !trouble.signal.aborted)
    await clock.sleep(READS_LOOK_MS, trouble.signal);
  run.sink.putDocument("har.json", harOfVisit(ctx));
  await run.sink.settled();
}

/** Aborts when no read ended and no body arrived for `DRAIN_MS`; `done` ends the watching. */
function stuck(
  clock: Clock,
  recorder: Pick<Recorder, "pendingReads">,
  connection: Pick<CdpConnection, "heard">,
  done: AbortSignal,
): AbortSignal {
  const over = new AbortController();
  const look = async () => {
    for (let [reads, heard] = [-1, 0]; !done.aborted; ) {
      const now = connection.heard;
      if (recorder.pendingReads() === reads && now - heard < DRAIN_BYTES) return over.abort();
      [reads, heard] = [recorder.pendingReads(), now];
      await clock.sleep(DRAIN_MS, done);
    }
  };
  void look();
  return over.signal;
}

/** Reads the remaining bodies, closes popups, waits for the uploads, and counts. */
export async function collect({
  run,
  recorder,
  trouble,
  outcome,
  settings,
  report: page_report,
  icons,
  narrowed,
}: Omit<FetchContext, "popups" | "deadline"> & {
  /** Counts what goes through the browser's gate; null without a gate. */
  narrowed: Pick<Narrowed, "bytes"> | null;
}): Promise<CaptureReport> {
  const { story, sink, browser } = run;
  const done = new AbortController();
  const within = (ms: number) => abortAfter(settings.clock, ms, done.signal);
  let cancelled = run.signal.aborted;
  let beside: Traffic | null = null;
  if (outcome.status === "completed") outcome.stage = "upload";
  recorder.seal();
  const reads = recorder.pendingReads();
  if (reads > 0)
    story.log("info", "upload", `${counted(reads, "body", "bodies")} still to be read`);
  await recorder.drain(
    cancelled
      ? within(CANCEL_DRAIN_MS)
      : AbortSignal.any([
          run.signal,
          stuck(settings.clock, recorder, browser.connection, done.signal),
          within(LONGEST_DRAIN_MS),
        ]),
  );
  // Chromium draws while the HAR is made here.
  const pictured = cancelled
    ? Promise.resolve()
    : takeFinalState({ run, recorder, trouble, outcome, settings, icons });
  if (run.options.download_video) await pictured;
  if (outcome.status === "completed" && run.options.download_video) {
    beside = await collectVideos(run, recorder, trouble, outcome, settings);
    cancelled = run.signal.aborted;
    if (outcome.status === "completed") outcome.stage = "upload";
  }
  if (!cancelled) sink.putDocument("har.json", harOfVisit({ run, recorder, trouble, outcome }));
  await pictured;
  const popups = recorder.targets.pages().filter((page) => !trouble.isMain(page));
  for (const popup of popups)
    browser.connection.root.post("Target.closeTarget", { targetId: popup.target_id });
  const { count, bytes } = recorder.stored;
  story.log("info", "upload", `uploading: ${counted(count, "asset")}, ${humanSize(bytes)}`);
  const patience = within(cancelled ? CANCEL_FLUSH_MS : FLUSH_MS);
  const { stored, failed } = await sink.flush(
    cancelled ? patience : AbortSignal.any([run.signal, patience]),
  );
  done.abort();
  for (const { name, reason } of failed)
    story.log("warn", "upload", `${name} was not stored: ${reason}`);
  if (outcome.final_state)
    outcome.final_state = withoutFailed(
      outcome.final_state,
      failed.map(({ name }) => name),
    );
  tellMissing({ run, recorder, outcome, report: page_report });
  const report: CaptureReport = {
    ...recorder.report(failed.map(({ name }) => name)),
    ...page_report,
    ...trafficOf(narrowed?.bytes ?? null, beside),
  };
  story.log("info", "upload", `${counted(stored, "file")} stored; ${describeReport(report)}`, {
    capture: report,
  });
  return report;
}

/** Counts traffic through the browser's gate, and past it for videos. */
const trafficOf = (gate: Traffic | null, beside: Traffic | null): Pick<CaptureReport, "traffic"> =>
  gate === null && beside === null
    ? {}
    : {
        traffic: {
          received_bytes: (gate?.received ?? 0) + (beside?.received ?? 0),
          sent_bytes: (gate?.sent ?? 0) + (beside?.sent ?? 0),
        },
      };

/** The first five. */
const namesOf = (urls: readonly string[]): string =>
  urls
    .slice(0, 5)
    .map((url) => shortUrl(url))
    .join(", ");

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
