import type { JobRow, WatchRow } from "#hub/platform/db/rows.ts";
import type { CaptureOutcome } from "#hub/platform/db/watch-types.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { WATCH_LIMITS } from "#shared/protocol/limits.ts";
import type { JobComparison } from "#shared/protocol/schema/comparison.ts";
import { isTerminal } from "#shared/protocol/schema/job.ts";
import type { ChangePart, JobChanges } from "#shared/protocol/schema/job-changes.ts";
import type { FleetContext } from "../context.ts";
import { tell } from "../jobs/events.ts";
import type { JobRemovalContext } from "../jobs/job-contexts.ts";
import { removeJob } from "../jobs/remove.ts";
import { ignoredBy } from "./ignored.ts";

/** One hub decides within this time, or leaves it to another; a comparison that takes longer is given up. */
const TAKEN_MS = 120_000;
const COMPARE_MS = 100_000;
/** Captures beyond those to be kept that are deleted at a time. */
const PRUNED = 50;

/** What differs, and what of it counts (rules/watches#what-counts-as-a-change). */
export function changesIn(
  { page, assets, before }: JobComparison,
  compare: ChangePart[],
): JobChanges {
  const { text, title, http_status } = page;
  const { counts } = assets;
  const differs: Record<ChangePart, boolean> = {
    // A page that could not be saved is not another page.
    text: text?.changed ?? false,
    title: title.changed,
    status: http_status.changed,
    assets: counts.new + counts.gone + counts.changed > 0,
  };
  return {
    against: before.job_id,
    parts: compare.filter((part) => differs[part]),
    text: text && { added: text.lines_new, removed: text.lines_gone },
    title,
    status: http_status,
    assets: { new: counts.new, gone: counts.gone, changed: counts.changed },
  };
}

const nothingKnown = { changed: null, changes: null, failed: null, last_error: null };

/** @throws AppError when it cannot be compared now, and can be later */
async function completedOutcome(
  ctx: Pick<FleetContext, "db" | "comparisons" | "clock">,
  watch: WatchRow,
  row: JobRow,
): Promise<Omit<CaptureOutcome, "status" | "at">> {
  const found = { ...nothingKnown, failed: false, is_baseline: true };
  const baseline = watch.baseline === null ? null : await ctx.db.jobs.get(watch.baseline);
  // Without one, or with one that somebody has deleted, this capture is what the next is compared with.
  if (baseline?.status !== "completed") return found;
  try {
    const compared = ctx.comparisons.rows(baseline, row, ignoredBy(watch));
    const comparison = await withDeadline("the comparison", COMPARE_MS, compared, ctx.clock);
    const changes = changesIn(comparison, watch.compare);
    return { ...found, changed: changes.parts.length > 0, changes };
  } catch (err) {
    const since = row.finished_at ?? row.created_at;
    if (ctx.clock.now() - since < WATCH_LIMITS.compare_ms) throw err;
    const last_error = `could not be compared with job ${baseline.job_id}: ${errorMessage(err)}`;
    return { ...found, last_error };
  }
}

async function outcomeOf(
  ctx: Pick<FleetContext, "db" | "comparisons" | "clock">,
  watch: WatchRow,
  row: JobRow,
): Promise<CaptureOutcome> {
  const { status } = row;
  const ended = { status, at: row.finished_at ?? row.created_at };
  // The watch got another page meanwhile (rules/watches#another-page).
  if (row.url !== watch.url) return { ...ended, ...nothingKnown, is_baseline: false };
  if (status === "completed") return { ...ended, ...(await completedOutcome(ctx, watch, row)) };
  // Somebody who cancels a capture says nothing about the page.
  const failed = status === "failed" ? true : null;
  return { ...ended, ...nothingKnown, failed, is_baseline: false, last_error: row.error };
}

/** The line of the job's log. */
function sentence({ changed, changes, last_error, status }: CaptureOutcome): string {
  if (status !== "completed") return "the watch keeps its baseline";
  if (last_error !== null) return last_error;
  if (changes === null) return "there was no earlier capture to compare with";
  return changed
    ? `changed since job ${changes.against}: ${changes.parts.join(", ")}`
    : `unchanged since job ${changes.against}`;
}

/** Deletes captures that are not to be kept; one that cannot be deleted now goes after a later capture. */
async function prune(ctx: JobRemovalContext, { watch_id, keep }: WatchRow): Promise<void> {
  for (const job_id of await ctx.db.watches.beyond(watch_id, keep, PRUNED))
    await removeJob(ctx, job_id).catch((err) => {
      if (err instanceof AppError && err.kind === "not_found") return;
      ctx.log.warn({ watch_id, job_id, err }, "an old capture of a watch could not be deleted");
    });
}

/** What follows when this hub has decided. */
async function announce(
  ctx: JobRemovalContext,
  watch: WatchRow,
  row: JobRow,
  outcome: CaptureOutcome,
): Promise<void> {
  const { watch_id } = watch;
  const { changed, changes } = outcome;
  const decided = { ...row, changed, changes };
  const event = changed ? "job.changed" : null;
  const fields = { watch_id, changed, ...(event && { event, changes }) };
  const level = outcome.last_error === null ? "info" : "warn";
  await tell(ctx, row.job_id, level, "watch", sentence(outcome), fields).catch((err) =>
    ctx.log.warn({ watch_id, err }, "the log of a capture does not say what changed"),
  );
  ctx.log.info({ watch_id, job_id: row.job_id, changed }, "capture of a watch decided");
  if (changed) ctx.webhooks.jobChanged(decided, watch.webhook_url);
  await prune(ctx, watch).catch((err) =>
    ctx.log.warn({ watch_id, err }, "old captures of a watch could not be looked for"),
  );
}

/** What compares a capture with the one before, and deletes what a watch does not keep. */
export type CaptureContext = JobRemovalContext & Pick<FleetContext, "changes" | "comparisons">;

/**
 * Decides what a capture that has ended changed, if no other hub does (rules/watches#one-comparison).
 * @returns the row of its job as it is then; null when it was another hub's turn, or the job is gone.
 * @throws AppError when it cannot be decided now; the next pass tries again
 */
export async function decideCapture(
  ctx: CaptureContext,
  watch_id: string,
  job_id: string,
): Promise<JobRow | null> {
  const row = await ctx.db.jobs.get(job_id);
  if (row && !isTerminal(row.status)) return null;
  const now = ctx.clock.now();
  const watch = await ctx.db.watches.take(watch_id, job_id, now, now + TAKEN_MS);
  if (!watch) return null;
  const outcome = row && (await outcomeOf(ctx, watch, row));
  const settled = await ctx.db.watches.settle(watch_id, job_id, outcome);
  if (!settled) return null;
  if (row && outcome) await announce(ctx, settled, row, outcome);
  ctx.changes.touch("watches");
  ctx.signal("capture decided", { watch_id, job_id, changed: outcome?.changed ?? null });
  return row && outcome && { ...row, changed: outcome.changed, changes: outcome.changes };
}
