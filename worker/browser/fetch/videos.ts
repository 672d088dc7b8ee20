import { errorMessage } from "#shared/kit/errors.ts";
import { VIDEO_LIMITS } from "#shared/protocol/limits.ts";
import type { Traffic } from "#worker/egress/gate.ts";
import type { JobOutcome, JobRun } from "../lanes/lane-browser.ts";
import type { Recorder } from "../record/recorder.ts";
import { fetchVideos } from "../video/fetch-videos.ts";
import { playVideos } from "../video/play.ts";
import { findVideoTools } from "../video/tools.ts";
import type { FetchContext, FetchSettings } from "./fetch-context.ts";
import type { TroubleWatch } from "./trouble.ts";
import { judgeOf } from "./way-out.ts";

/**
 * Starts the players of the page, muted; returns how long to wait for their requests, in milliseconds
 * (rules/capture#videos).
 */
export async function startPlayers({
  run,
  recorder,
  trouble,
  outcome,
}: FetchContext): Promise<number> {
  outcome.stage = "video";
  const players = await trouble.race(playVideos(recorder.targets.all()));
  if (players === 0) return 0;
  const { post_click_seconds } = run.options;
  run.story.log(
    "info",
    "video",
    `pressed play on ${players} players, waiting ${post_click_seconds} s`,
  );
  return post_click_seconds * 1_000;
}

/**
 * Collects the videos of a captured page. Never throws: a job that could get none of its videos, for a reason other
 * than DRM, has failed. @returns the bytes that were sent and received for them; null when unknown
 */
export async function collectVideos(
  run: JobRun,
  recorder: Recorder,
  trouble: TroubleWatch,
  outcome: JobOutcome,
  settings: FetchSettings,
): Promise<Traffic | null> {
  outcome.stage = "video";
  try {
    const report = await fetchVideos({
      run,
      recorder,
      title: outcome.title,
      signal: trouble.signal,
      settings: {
        clock: settings.clock,
        ...(run.browser.gate?.wayOut() ?? {
          judge: judgeOf(run, settings),
          upstream: settings.upstream ?? null,
        }),
        resolve: settings.resolve,
        tools: findVideoTools(settings.program_path),
        max_bytes: settings.spool_max_bytes,
        ...VIDEO_LIMITS,
      },
    });
    const [failure] = report.failures;
    if (failure !== undefined && report.stored === 0) fail(`no video was downloaded: ${failure}`);
    return report.traffic;
  } catch (err) {
    if (run.signal.aborted) fail("the job was cancelled while it ran");
    else
      fail(trouble.trouble?.message ?? `the videos could not be downloaded: ${errorMessage(err)}`);
    return null;
  }
  function fail(error: string) {
    Object.assign(outcome, { status: "failed", error });
    run.story.log("error", "video", error);
  }
}
