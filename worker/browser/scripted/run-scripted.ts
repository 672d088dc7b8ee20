import { CODEGEN_ATTEMPTS } from "#shared/protocol/limits.ts";
import type { RunEnd } from "#shared/protocol/link/messages.ts";
import { keepSoFar } from "../fetch/collect.ts";
import { injectCookies } from "../fetch/cookies.ts";
import type { FetchContext, FetchSettings } from "../fetch/fetch-context.ts";
import { blankPage, openPage } from "../fetch/open-page.ts";
import { runVisit } from "../fetch/run-visit.ts";
import { keepPage } from "../fetch/save-page.ts";
import type { JobOutcome, JobRun } from "../lanes/lane-browser.ts";
import type { Tracked } from "../record/targets.ts";

const KEPT_NAMES = [
  "result.json",
  ...Array.from({ length: CODEGEN_ATTEMPTS.max }, (_, i) => `attempt-${i + 1}.png`),
];

/** What a script needs from the worker while the hub runs it. */
export interface ScriptPage {
  /** The job's tab, in which the script begins. */
  target_id: string;
  /** Returns a name for a file that the script saves, which no captured body has or will have. */
  takeName(name: string, mime: string): string;
  /** Stores what the job has captured by now, for a replay while it goes on. */
  keepCapture(): Promise<void>;
}

/** A job whose page a script of the hub drives (rules/scripts#start-of-a-scripted-job). */
export interface ScriptedRun extends JobRun {
  /** Called when the page is open: from now on the hub's calls arrive. */
  ready(page: ScriptPage): Promise<void>;
  /** Resolves with the result with which the hub ends the run. */
  ended: Promise<RunEnd>;
}

/**
 * Runs a scripted job: opens the URL as a fetch job does, holds the page until the hub has ended its scripts, and hands
 * everything the browser received meanwhile to the sink. Never throws because of what a page or a browser does.
 */
export const runScripted = (run: ScriptedRun, settings: FetchSettings): Promise<JobOutcome> =>
  runVisit(run, settings, (ctx) => holdPage(ctx, run));

async function holdPage(ctx: FetchContext, run: ScriptedRun): Promise<void> {
  const { outcome, trouble, recorder } = ctx;
  // The hub stores these files itself: no captured body may have their names.
  for (const name of KEPT_NAMES) recorder.takeName(run.url, "", name);
  await trouble.race(injectCookies(run));
  // The site is not touched before a script is proved.
  const unopened = typeof run.options.proof_capture === "string";
  const main = unopened ? await blankPage(ctx) : (await openPage(ctx)).main;
  outcome.stage = "script";
  const takeName = (name: string, mime: string) => recorder.takeName(run.url, mime, name);
  const keepCapture = () => keepSoFar(ctx);
  await trouble.race(run.ready({ target_id: main.target_id, takeName, keepCapture }));
  const { status, error, stage } = await trouble.race(run.ended);
  outcome.stage = "page";
  const page = pageAtTheEnd(ctx, main);
  if (page) await keepPage(ctx, page);
  Object.assign(outcome, { status, error, ...(stage !== null && { stage }) });
}

/** The tab the job was opened in; the newest one when the script has closed it. */
const pageAtTheEnd = ({ recorder }: FetchContext, main: Tracked): Tracked | undefined => {
  const pages = recorder.targets.pages();
  return pages.find(({ target_id }) => target_id === main.target_id) ?? pages.at(-1);
};
