import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Tracer } from "#shared/kit/tracing/tracer.ts";
import type { FetchSettings } from "#worker/browser/fetch/fetch-context.ts";
import { shortUrl } from "#worker/browser/fetch/net-errors.ts";
import type { AcceptedJob } from "#worker/browser/jobs/assignments.ts";
import { canLeaveLane } from "#worker/browser/jobs/late-uploads.ts";
import { type RunJobDeps, runJob } from "#worker/browser/jobs/run-job.ts";
import type { ProfileCache } from "#worker/browser/profile/cache.ts";
import { cloneProfile } from "#worker/browser/profile/clone.ts";
import { applyProfile } from "#worker/browser/profile/profiles.ts";
import type { Recordings } from "#worker/browser/recording/recordings.ts";
import type { SessionDesk } from "#worker/browser/session/desk.ts";
import { showReplay } from "#worker/browser/session/show-replay.ts";
import type { Traces } from "#worker/browser/trace/traces.ts";
import type { WorkerConfig } from "#worker/config.ts";
import type { Egress } from "#worker/egress/egress.ts";
import type { WorkerMetrics } from "#worker/metrics/worker-metrics.ts";
import type { Replays } from "#worker/replay/replays.ts";
import { createHttpSink } from "#worker/upload/http-sink.ts";
import type { KeptUploads } from "#worker/upload/kept.ts";
import type { HubWays } from "./hub-ways.ts";
import type { WorkerParts } from "./worker-deps.ts";

export interface JobRunnerDeps {
  config: WorkerConfig;
  worker_id: string;
  egress: Egress;
  profiles: ProfileCache;
  replays: Replays;
  ways: HubWays;
  kept: KeptUploads;
  recordings: Recordings;
  traces: Traces;
  /** Where the spans of jobs go; absent where no collector is named. */
  tracer?: Tracer | undefined;
  /** Counts what jobs and their uploads come to, where somebody reads it. */
  metrics?: WorkerMetrics | undefined;
  /** Opens or lends the session of a job. */
  forJob: SessionDesk["forJob"];
  parts: Pick<WorkerParts, "runFetch" | "runScripted" | "random">;
  clock: Clock;
  log: Log;
}

/** Runs accepted jobs with what this worker has: its profiles, its way out, and its uploads to the hub. */
export function createJobRunner(deps: JobRunnerDeps): (job: AcceptedJob) => Promise<void> {
  const { config, egress, ways, parts, kept, recordings, metrics, clock, log } = deps;
  const upload_wait_ms = config.fetch.upload_wait_ms;
  const settings = fetchSettings(config, egress, clock);
  const run: RunJobDeps = {
    clock,
    log,
    kept,
    upload_wait_ms,
    tracer: deps.tracer,
    jobEnded: metrics?.lanes().jobEnded,
    sessionOf: ({ assignment, hold }) => deps.forJob(assignment, hold),
    profileFor: ({ assignment, session }, signal) => {
      const { extras, options } = assignment;
      const clone = options.clone_chrome_profile;
      if (typeof clone === "string") return cloneProfile(config.chrome_config_dir, clone, signal);
      const { profile } = extras;
      return profile && applyProfile(deps.profiles, profile, ways.filesOf(session), signal);
    },
    replayFor: ({ assignment: { options }, session }) => {
      const { replay: job_id, replay_clock } = options;
      if (typeof job_id !== "string") return null;
      return (live, story) => {
        story.log(
          "info",
          "lane",
          `replays the capture of job ${job_id}: nothing leaves the machine`,
        );
        const onMissed = (method: string, url: string, reason: string) =>
          story.log("warn", "network", `${method} ${shortUrl(url)} has no answer: ${reason}`);
        const clock = replay_clock === "capture" ? "capture" : "now";
        const hub = ways.filesOf(session);
        return showReplay(live, deps.replays, { job_id, clock, hub, onMissed });
      };
    },
    runFetch: (page) => parts.runFetch(page, settings),
    runScripted: (page) => parts.runScripted(page, settings),
    traceJob: deps.traces.ofJob,
    recordJob: (job, live) => recordings.ofJob(job, live),
    recordKept: ({ assignment, session }, live) =>
      recordings.ofSession(live, session, {
        record: assignment.record,
        headless: live.browser()?.headless ?? false,
        secrets: assignment.extras.secrets,
        proxy: assignment.extras.proxy,
        http_login: assignment.extras.http_login,
      }),
    openSink: (job, story) =>
      createHttpSink({
        base_url: ways.baseUrl(job.session),
        worker_id: deps.worker_id,
        job_id: job.assignment.job_id,
        lease_token: job.assignment.lease_token,
        upload_token: job.session.hub.upload_token,
        isHubAway: () => job.session.is_cut,
        direct: ways.directWayOf(job.session),
        can_wait: canLeaveLane(upload_wait_ms, job),
        watch: metrics?.uploads(),
        story,
        clock,
        random: parts.random,
      }),
  };
  return (job) => runJob(run, job);
}

const fetchSettings = (config: WorkerConfig, egress: Egress, clock: Clock): FetchSettings => ({
  clock,
  spool_max_bytes: config.fetch.spool_max_bytes,
  judge: egress.judge,
  resolve: egress.resolve,
  upstream: egress.upstream,
  program_path: config.browser.environment.PATH,
});
