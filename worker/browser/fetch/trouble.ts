import { type Clock, endsWithin, isoTime } from "#shared/kit/clock.ts";
import type { JobStory } from "#worker/link/story.ts";
import type { CdpSession } from "../cdp/connection.ts";
import type { BrowserExit, JobRun, LaneBrowser } from "../lanes/lane-browser.ts";
import type { Tracked } from "../record/targets.ts";
import type { DialogEvents, OpenDialog } from "../session/dialogs.ts";
import { shortUrl } from "./net-errors.ts";

/** Something that ends the job: its message is for the person who submitted it. */
export class JobTrouble extends Error {
  override readonly name = "JobTrouble";
}

/** The browser, or the renderer of its page, is gone or silent: what it has not handed over yet is lost. */
export class BrowserLost extends JobTrouble {}

/** More dialogs than this are a loop, not a page that asks something (rules/capture#dialogs-of-a-job). */
const MAX_DIALOGS = 10;

/** Time between the end of Chromium's pipe and the report of its exit, on a busy machine. */
const EXIT_FOLLOWS_MS = 2_000;

/** Watches for what can end a job at any moment. The first trouble wins and aborts `signal`. */
export interface TroubleWatch {
  /** Aborts at the first trouble, or when the run is cancelled. */
  readonly signal: AbortSignal;
  readonly trouble: JobTrouble | null;
  fail(message: string): void;
  /** Called for every attached target, before it runs. */
  watch(target: Tracked): void;
  /** The page whose end is the job's end. */
  setMain(target: Tracked): void;
  isMain(target: Pick<Tracked, "target_id">): boolean;
  /** Rejects with the trouble instead of waiting for a browser that will not answer. */
  race<T>(work: Promise<T>): Promise<T>;
  /**
   * Waits for the event that explains why a target is gone: a command that failed with it comes first and says less.
   */
  explainGone(): Promise<void>;
}

export function watchTrouble(run: JobRun, clock: Clock): TroubleWatch {
  const { browser, story } = run;
  const { root } = browser.connection;
  const abort = new AbortController();
  const signal = AbortSignal.any([run.signal, abort.signal]);
  let trouble: JobTrouble | null = null;
  let main: Tracked | null = null;
  let dialogs = 0;

  const end = (why: JobTrouble) => {
    if (trouble || run.signal.aborted) return;
    trouble = why;
    abort.abort(trouble);
  };
  const fail = (message: string) => end(new JobTrouble(message));
  const lose = (message: string) => end(new BrowserLost(message));
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const told = ended.catch(() => {});
  const onAbort = () => reject(trouble ?? new JobTrouble("the job was cancelled"));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });

  watchEnd(browser, clock, lose);
  root.on("Target.targetCrashed", (p) => {
    if (p.targetId !== main?.target_id) {
      story.log("warn", "browser", `a frame or worker crashed (${p.status})`, {
        code: p.errorCode,
      });
      return;
    }
    lose(`the page crashed in its renderer (${p.status}, code ${p.errorCode}): ${pageName(main)}`);
  });
  root.on("Target.targetDestroyed", (p) => {
    // A script may close the tab it began in.
    if (run.options.mode === "fetch" && p.targetId === main?.target_id)
      fail(`the page was closed: ${pageName(main)}`);
  });

  const dialogEvents = (target: Tracked): DialogEvents => ({
    waits: (dialog) => tellWaiting(story, dialog),
    closed: ({ type, message }, { accepted, by_policy }) => {
      const done = accepted ? "accepted" : "dismissed";
      story.log("info", "browser", `${done} ${aDialog(type)}: ${message.slice(0, 200)}`);
      if (by_policy) dialogs += 1;
      if (!by_policy || dialogs <= MAX_DIALOGS) return;
      fail(
        `the page opened more than ${MAX_DIALOGS} dialogs (alert, confirm or prompt) and was closed: ${pageName(target)}`,
      );
      root.post("Target.closeTarget", { targetId: target.target_id });
    },
  });
  return {
    signal,
    get trouble() {
      return trouble;
    },
    fail,
    setMain: (target) => {
      main = target;
    },
    isMain: (target) => target.target_id === main?.target_id,
    watch: (target) => {
      if (target.type !== "page" && target.type !== "iframe") return;
      const session: CdpSession = target.session;
      if (target.type === "page")
        run.dialogs.follow(session, target.target_id, dialogEvents(target));
      session.post("Page.enable");
      // A popup in front hides the page, and Chromium does not load the media of hidden pages.
      if (target.type === "page")
        session.post("Emulation.setFocusEmulationEnabled", { enabled: true });
    },
    race: (work) => Promise.race([work, ended]),
    explainGone: async () => {
      await endsWithin(clock, EXIT_FOLLOWS_MS + 500, told);
    },
  };
}

const aDialog = (type: string): string => `${type === "alert" ? "an" : "a"} ${type} dialog`;
const pageName = (target: Tracked): string => shortUrl(target.page?.url ?? "");

function watchEnd(browser: LaneBrowser, clock: Clock, lose: (message: string) => void): void {
  void browser.exited.then((exit) => lose(exitMessage(exit)));
  void browser.connection.closed.then(async () => {
    // The exit says more than the closed pipe; it follows at once when the process is gone.
    await endsWithin(clock, EXIT_FOLLOWS_MS, browser.exited);
    lose("the connection to Chromium was lost: submit the job again");
  });
}

function exitMessage({ code, signal, log_tail, ended_for }: BrowserExit): string {
  if (ended_for !== null)
    return `Chromium was ended during the job, because it ${ended_for}: submit it again`;
  const how = signal ? `was killed by ${signal}` : `exited with code ${code}`;
  const tail = log_tail.trim().split("\n").slice(-5).join(" | ").slice(-600);
  return `Chromium ${how} during the job: submit it again${tail ? ` (last output: ${tail})` : ""}`;
}

function tellWaiting(story: JobStory, { type, message, closes_at }: OpenDialog): void {
  const text = `${aDialog(type)} waits for an answer: ${message.slice(0, 200)}`;
  story.log("info", "browser", text, { closes_at: closes_at === null ? null : isoTime(closes_at) });
}
