import type { Metrics } from "#hub/platform/metrics/metrics.ts";
import { ACTION_S, QUICK_S, RUN_S, WAIT_S } from "#shared/kit/histogram-buckets.ts";

/** What the fleet counts while it works; each place adds to its own (rules/metrics#of-the-fleet). */
export type FleetMeters = ReturnType<typeof createFleetMeters>;

export const createFleetMeters = (metrics: Metrics) => ({
  submitted: metrics.counter("flotilla_jobs_submitted_total", "Jobs that were stored"),
  refused: metrics.counter(
    "flotilla_refusals_total",
    "Jobs and sessions for which there was no lane, by what they waited for",
    ["kind", "reason"],
  ),
  finished: metrics.counter("flotilla_jobs_finished_total", "Jobs that ended here", ["status"]),
  overdue: metrics.counter(
    "flotilla_jobs_overdue_total",
    "Queued jobs that this hub failed because no worker took them in time",
  ),
  queue_wait: metrics.histogram(
    "flotilla_job_queue_wait_seconds",
    "From the submit of a job until a worker took it",
    WAIT_S,
  ),
  assign: metrics.histogram(
    "flotilla_job_assign_seconds",
    "From the claim of a lane until its worker took the job",
    QUICK_S,
  ),
  taken_back: metrics.counter(
    "flotilla_job_assignments_taken_back_total",
    "Assignments that no worker took, so that the job went back to the queue",
  ),
  run: metrics.histogram(
    "flotilla_job_duration_seconds",
    "From the start of a job until its end",
    RUN_S,
    ["status"],
  ),
  bodies: metrics.counter(
    "flotilla_capture_bodies_total",
    "Bodies that browsers of ended jobs received, by what became of them",
    ["outcome"],
  ),
  capture_bytes: metrics.counter("flotilla_capture_bytes_total", "Bytes that ended jobs captured"),
  uploads: metrics.counter("flotilla_uploads_total", "Bodies that workers stored here", ["way"]),
  upload_bytes: metrics.counter("flotilla_upload_bytes_total", "Bytes of these bodies", ["way"]),
  uploads_refused: metrics.counter(
    "flotilla_uploads_refused_total",
    "Bodies of workers that could not be stored",
    ["way"],
  ),
  retention_failed: metrics.counter(
    "flotilla_retention_failures_total",
    "What retention could not delete, each time it tried",
    ["what"],
  ),
  sessions_opened: metrics.counter("flotilla_sessions_opened_total", "Sessions opened", ["kind"]),
  sessions_expired: metrics.counter(
    "flotilla_sessions_expired_total",
    "Sessions that this hub ended because they were idle, or their time was up",
    ["kind"],
  ),
  sessions_ended: metrics.counter("flotilla_sessions_ended_total", "Sessions ended", ["kind"]),
  action: metrics.histogram(
    "flotilla_session_action_seconds",
    "How long an action of a session took, with its way to the worker",
    ACTION_S,
    ["action", "outcome"],
  ),
});
