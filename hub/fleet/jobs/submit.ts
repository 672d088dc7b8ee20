import type { AttemptRow, JobRow } from "#hub/platform/db/rows.ts";
import { madeJob, stillRunning } from "#hub/platform/idempotency/once-per-key.ts";
import { DeadlineError, withDeadline } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import { newJobId } from "#shared/protocol/ids.ts";
import { ASSIGN_ACK_MS, MAX_WAITING_SUBMITS } from "#shared/protocol/limits.ts";
import {
  isTerminal,
  type Job,
  type SubmitJob,
  type WaitingFor,
} from "#shared/protocol/schema/job.ts";
import { storedLabels } from "#shared/protocol/schema/labels.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerListContext } from "../links/link-contexts.ts";
import { requireWayOut } from "../links/way-out.ts";
import { requireEngines } from "../registries/engines.ts";
import { requireHttpLogin } from "../registries/http-login.ts";
import { profileRef } from "../registries/profiles.ts";
import type { OwnerContext } from "../sessions/session-contexts.ts";
import { isAttached, requireAttachable, runAttached } from "./attach.ts";
import { decidedElsewhere, lookElsewhere } from "./elsewhere.ts";
import { withHostOptions } from "./host-options.ts";
import type { JobAttachContext, JobCreateContext, JobSubmitContext } from "./job-contexts.ts";
import { keepProxy } from "./job-proxy.ts";
import { beginJobTrace } from "./job-trace.ts";
import { checkClone } from "./local-only.ts";
import { requireProof } from "./proof.ts";
import { jobRecord } from "./record.ts";
import { requireReplayable } from "./replay-index.ts";
import { newAttempt, rerunSource } from "./rerun-source.ts";
import { isScripted } from "./scripted.ts";
import { queueFacts, waitingFor } from "./waiting-for.ts";

/** After a 503 the client should try again in this many seconds. */
const RETRY_AFTER_S = 10;
/**
 * A worker answers an assignment, or loses it, within ASSIGN_ACK_MS; the rest of the time is for a pass and the
 * database.
 */
export const SETTLE_MS = ASSIGN_ACK_MS + 1_000;

/** A queued job that nothing is known of yet. */
export const newRow = (
  ctx: Pick<FleetContext, "arrivals">,
  job_id: string,
  input: SubmitJob,
  idempotency_key: string | null,
  watch: ForWatch | null = null,
): JobRow => ({
  job_id,
  status: "queued",
  mode: input.options.mode,
  url: input.url,
  host: new URL(input.url).hostname,
  options: input.options,
  novnc_url: null,
  worker_id: null,
  lane_idx: null,
  session_id: null,
  lease_token: null,
  hub_id: null,
  error: null,
  stage: null,
  http_status: null,
  final_url: null,
  title: null,
  created_at: ctx.arrivals.next(),
  started_at: null,
  finished_at: null,
  asset_count: 0,
  asset_bytes: 0,
  document_bytes: 0,
  attempts: 0,
  capture: null,
  final_state: null,
  answer: null,
  idempotency_key,
  watch_id: watch?.watch_id ?? null,
  changed: null,
  changes: null,
  fingerprint: null,
  retried_as: null,
  labels: storedLabels(input.labels),
});

export interface SubmitOptions {
  /** The call's idempotency key, already taken: the job is stored together with its answer, or not at all. */
  idempotency_key?: string | null;
  /** False: answer at once with the queued job. */
  wait?: boolean;
}

/** The watch that a job is made for (`JobsRepo.insertWith`). */
type ForWatch = NonNullable<Parameters<FleetContext["db"]["jobs"]["insertWith"]>[1]["watch"]>;

/** Checks what is asked for, and makes the row of the job. */
async function prepare(
  ctx: WorkerListContext &
    OwnerContext &
    Pick<FleetContext, "arrivals" | "objects" | "settings_cache" | "tracer">,
  input: SubmitJob,
  key: string | null,
  watch: ForWatch | null,
): Promise<{ row: JobRow; script: string | null }> {
  const { use_profile } = input.options;
  await requireEngines(ctx, input.options);
  const script = await rerunSource(ctx, input.options);
  if (use_profile !== null) await profileRef(ctx, use_profile, ["body", "options", "use_profile"]);
  await checkClone(ctx, input.options);
  const { replay } = input.options;
  if (replay !== null) await requireReplayable(ctx, replay, ["body", "options", "replay"]);
  await requireProof(ctx, input.options);
  await requireWayOut(ctx, input.options);
  requireHttpLogin(ctx, input.options, ["body", "options"]);
  await requireAttachable(ctx, input.options);
  const resolved = await withHostOptions(ctx, input);
  const job_id = newJobId();
  const shown = await keepProxy(ctx, job_id, resolved);
  const row = newRow(ctx, job_id, { ...input, options: shown }, key, watch);
  await beginJobTrace(ctx, row);
  return { row, script };
}

/**
 * Stores the job, asks for a lane and waits for it up to `config.submit_wait_ms` (rules/jobs#wait-for-a-lane).
 * @returns the record, running or ended already.
 * @throws AppError at_capacity with the job_id in its body; the job stays queued. conflict when the browser it should
 *   run in is gone or in use, or no engine is configured that could write its scripts.
 */
export async function submitJob(
  ctx: JobSubmitContext,
  input: SubmitJob,
  options: SubmitOptions = {},
): Promise<Job> {
  const { row, script } = await prepare(ctx, input, options.idempotency_key ?? null, null);
  const { job_id } = row;
  if (isScripted(row)) return queueScripted(ctx, row, script);
  const given_up = new AbortController();
  const crowded = ctx.waiters.size >= MAX_WAITING_SUBMITS;
  let moved = new Promise<JobRow>((resolve) => {
    if (!crowded) ctx.waiters.set(job_id, resolve);
  });
  let now: JobRow | undefined;
  try {
    await storeJob(ctx, row, null);
    await placeJob(ctx, row);
    if (ctx.cluster.peers.size > 0) {
      const again = () => void placeJob(ctx, row).catch(() => ctx.dispatcher.kick());
      moved = Promise.race([moved, decidedElsewhere(ctx, row, given_up.signal, again)]);
    }
    if (options.wait !== false && !crowded && !ctx.stopping.aborted) {
      const signal = AbortSignal.any([given_up.signal, ctx.stopping]);
      const late = ctx.clock.sleep(ctx.config.submit_wait_ms, signal).then(() => undefined);
      now = await Promise.race([moved, late]);
    }
    if (crowded && options.wait !== false) throw atCapacity(ctx, job_id);
    // Undecided for too long: as far as the caller can know, it is still queued.
    now ??= await withDeadline(
      "the assignment",
      SETTLE_MS,
      settledRow(ctx, row, moved),
      ctx.clock,
    ).catch((err) => {
      if (err instanceof DeadlineError) return row;
      throw err;
    });
  } finally {
    given_up.abort();
    ctx.waiters.delete(job_id);
    ctx.cluster.unplaced.delete(job_id);
  }
  if (now.status === "running" || isTerminal(now.status)) return jobRecord(now);
  if (options.wait === false) return jobRecord(now, await ctx.db.jobs.queuePosition(job_id));
  const facts = await queueFacts(ctx);
  throw atCapacity(ctx, job_id, facts ? waitingFor(row, facts) : null);
}

/**
 * Stores a job for a watch and asks for a lane, without waiting for it (rules/watches#one-capture-for-each-time).
 * @returns null, and nothing is stored, when the watch is not due any more, is gone, or has a capture under way.
 * @throws AppError what `submitJob` refuses
 */
export async function submitCapture(
  ctx: JobCreateContext,
  input: SubmitJob,
  watch: ForWatch,
): Promise<Job | null> {
  const { row, script } = await prepare(ctx, input, null, watch);
  const attempt = script === null ? null : newAttempt(row, 1, row.created_at, { script });
  if (!(await ctx.db.jobs.insertWith(row, { key: null, attempt, watch }))) return null;
  ctx.meters.submitted.inc();
  await placeJob(ctx, row);
  return jobRecord(row, await ctx.db.jobs.queuePosition(row.job_id));
}

/**
 * Stores a job that runs another again, and asks for a lane without waiting for it.
 * @returns null, and nothing is stored, when that job was run again already, or is gone.
 * @throws AppError what `submitJob` refuses
 */
export async function submitRetry(
  ctx: JobCreateContext,
  input: SubmitJob,
  retry_of: string,
): Promise<Job | null> {
  const { row, script } = await prepare(ctx, input, null, null);
  const attempt = script === null ? null : newAttempt(row, 1, row.created_at, { script });
  if (!(await ctx.db.jobs.insertWith(row, { key: null, attempt, retry_of }))) return null;
  await placeJob(ctx, row);
  return jobRecord(row);
}

/**
 * A scripted job is answered at once (rules/scripts#start-of-a-scripted-job): it waits in the queue for a lane and a runner.
 * @param script the script of the job or attempt to rerun, which may be deleted from now on.
 */
async function queueScripted(
  ctx: JobAttachContext & Pick<FleetContext, "running_calls">,
  row: JobRow,
  script: string | null,
): Promise<Job> {
  const attempt = script === null ? null : newAttempt(row, 1, row.created_at, { script });
  await storeJob(ctx, row, attempt);
  await placeJob(ctx, row);
  return jobRecord(row, await ctx.db.jobs.queuePosition(row.job_id));
}

/** @throws AppError conflict when another process has answered the call's Idempotency-Key meanwhile. */
async function storeJob(
  { db, running_calls: { owner }, meters }: Pick<FleetContext, "db" | "running_calls" | "meters">,
  row: JobRow,
  attempt: AttemptRow | null,
): Promise<void> {
  const key = row.idempotency_key;
  const named = key === null ? null : { key, owner, answer: madeJob(row.job_id) };
  if (key === null && attempt === null && row.labels === null) await db.jobs.insert(row);
  else if (!(await db.jobs.insertWith(row, { key: named, attempt }))) throw stillRunning();
  meters.submitted.inc();
}

/** Asks for a lane. An attached job needs no free one, so it waits for none. */
async function placeJob(ctx: JobAttachContext, row: JobRow): Promise<void> {
  if (isAttached(row)) return void (await ctx.dispatcher.exclusive(() => runAttached(ctx, row)));
  if (ctx.cluster.shared) ctx.cluster.unplaced.add(row.job_id);
  ctx.dispatcher.kick();
}

/**
 * The row once it is decided: the pass that is running may be about to claim the job, and a claimed job whose worker
 * has not answered yet may still be taken back.
 * @param moved resolves when the worker of another hub has accepted it.
 */
async function settledRow(
  ctx: OwnerContext & Pick<FleetContext, "db" | "dispatcher" | "links">,
  row: JobRow,
  moved: Promise<JobRow>,
): Promise<JobRow> {
  await ctx.dispatcher.exclusive(async () => {});
  const now = (await ctx.db.jobs.get(row.job_id)) ?? row;
  if (now.status !== "running" || now.worker_id === null || now.lease_token === null) return now;
  const held = ctx.links.get(now.worker_id)?.heldBy(now.job_id, now.lease_token);
  if (!held && ctx.cluster.peers.size > 0)
    return (await lookElsewhere(ctx, row).catch(() => null)) ?? moved;
  if (!held || held.accepted) return now;
  await held.settled;
  return (await ctx.db.jobs.get(row.job_id)) ?? row;
}

function atCapacity(
  { meters }: Pick<FleetContext, "meters">,
  job_id: string,
  waiting_for: WaitingFor | null = null,
): AppError {
  meters.refused.inc({ kind: "job", reason: waiting_for?.reason ?? "unknown" });
  return new AppError("at_capacity", "fleet at capacity", {
    body: { job_id, ...(waiting_for && { waiting_for }) },
    headers: { "Retry-After": String(RETRY_AFTER_S) },
  });
}
