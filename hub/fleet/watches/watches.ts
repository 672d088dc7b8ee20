import type { WatchRow } from "#hub/platform/db/rows.ts";
import { toIssues } from "#hub/platform/http/issues.ts";
import { AppError, conflict, invalid, notFound } from "#shared/kit/errors.ts";
import { newWatchId } from "#shared/protocol/ids.ts";
import { WATCH_LIMITS } from "#shared/protocol/limits.ts";
import { type Job, SubmitOptions } from "#shared/protocol/schema/job.ts";
import type { PatchWatch, PutWatch, Watch } from "#shared/protocol/schema/watch.ts";
import type { FleetContext } from "../context.ts";
import type { JobCreateContext } from "../jobs/job-contexts.ts";
import { captureFor } from "./capture.ts";
import { checkTiming, nextTime } from "./next-time.ts";
import { watchRecord } from "./record.ts";

/** How often a change is made again when somebody else was faster. */
const TRIES = 5;

/** @throws AppError invalid naming the option */
function checkOptions(options: Record<string, unknown>): void {
  const parsed = SubmitOptions.safeParse(options);
  if (!parsed.success)
    throw new AppError("invalid", toIssues(parsed.error.issues, "body", "options"));
  const { proxy, keep_session, attach_to_job } = parsed.data;
  const at = (name: string) => ["body", "options", name];
  if (proxy?.username)
    throw invalid(
      at("proxy"),
      "has a login, which everybody who reads watches would see: give it with the host",
    );
  if (keep_session)
    throw invalid(at("keep_session"), "would leave a browser open after every capture");
  if (attach_to_job !== null)
    throw invalid(at("attach_to_job"), "names the browser of one job, which does not stay open");
}

function checkWatch(input: PutWatch, now: number): void {
  checkOptions(input.options);
  checkTiming(input, now);
}

/** @throws AppError not_found, also for what cannot be the id of a watch */
export async function watchRow(ctx: Pick<FleetContext, "db">, watch_id: string): Promise<WatchRow> {
  const row = /^[0-9a-z]{1,64}$/.test(watch_id) ? await ctx.db.watches.get(watch_id) : null;
  if (!row) throw notFound("watch");
  return row;
}

export const listWatches = async (ctx: Pick<FleetContext, "db">): Promise<Watch[]> =>
  (await ctx.db.watches.list()).map(watchRecord);

/** @throws AppError invalid; conflict when there are as many watches as there may be */
export async function createWatch(
  ctx: Pick<FleetContext, "clock" | "db" | "log">,
  input: PutWatch,
): Promise<Watch> {
  const now = ctx.clock.now();
  checkWatch(input, now);
  const row: WatchRow = {
    ...input,
    watch_id: newWatchId(),
    // One with an interval begins at once.
    next_at: input.every_s !== null && !input.paused ? now : nextTime(input, now, now),
    capturing: null,
    taken_until: 0,
    baseline: null,
    last_job_id: null,
    last_status: null,
    last_at: null,
    last_changed: null,
    changed_job_id: null,
    changed_at: null,
    failing_since: null,
    failures: 0,
    last_error: null,
    captures: 0,
    changes: 0,
    created_at: now,
    updated_at: now,
  };
  if (!(await ctx.db.watches.insert(row, WATCH_LIMITS.watches)))
    throw conflict(`there are ${WATCH_LIMITS.watches} watches already: delete some first`);
  ctx.log.info({ watch_id: row.watch_id, url: row.url }, "watch created");
  return watchRecord(row);
}

/** What is known of one page says nothing about another (rules/watches#another-page). */
const ANEW = { baseline: null, failing_since: null, failures: 0, last_error: null };

const TIMED = ["cron", "cron_tz", "every_s", "paused"] as const;

/** Writes what people decide. @throws AppError not_found, invalid; conflict when others write all the time */
async function write(
  ctx: Pick<FleetContext, "clock" | "db" | "log">,
  watch_id: string,
  fieldsOf: (row: WatchRow) => PutWatch,
): Promise<Watch> {
  for (let n = 0; n < TRIES; n += 1) {
    const row = await watchRow(ctx, watch_id);
    const now = ctx.clock.now();
    const fields = fieldsOf(row);
    checkWatch(fields, now);
    const timed = TIMED.some((name) => fields[name] !== row[name]);
    const changed = await ctx.db.watches.change(watch_id, row.updated_at, {
      ...fields,
      ...(timed && { next_at: nextTime(fields, now, now) }),
      ...(fields.url !== row.url && ANEW),
      updated_at: Math.max(now, row.updated_at + 1),
    });
    if (!changed) continue;
    ctx.log.info({ watch_id }, "watch changed");
    return watchRecord(changed);
  }
  throw conflict("the watch is being changed by others: try again");
}

export const replaceWatch = (
  ctx: Pick<FleetContext, "clock" | "db" | "log">,
  watch_id: string,
  input: PutWatch,
) => write(ctx, watch_id, () => input);

/** What is left out stays; a schedule of one kind replaces one of the other. */
export const patchWatch = (
  ctx: Pick<FleetContext, "clock" | "db" | "log">,
  watch_id: string,
  patch: PatchWatch,
) =>
  write(ctx, watch_id, (row) => {
    const { url, name, options, cron, cron_tz, every_s, paused } = row;
    const { compare, ignore_text, ignore_assets, keep, webhook_url } = row;
    const fields = {
      url,
      name,
      options,
      cron,
      cron_tz,
      every_s,
      paused,
      compare,
      ignore_text,
      ignore_assets,
      keep,
      webhook_url,
      ...(patch.cron != null && { every_s: null }),
      ...(patch.every_s != null && { cron: null }),
      ...patch,
    };
    if ((fields.cron === null) === (fields.every_s === null))
      throw invalid(["body", "cron"], "exactly one of cron and every_s is required");
    return fields;
  });

/** Its captures stay until they are deleted as other jobs are. @throws AppError not_found */
export async function deleteWatch(
  ctx: Pick<FleetContext, "db" | "log">,
  watch_id: string,
): Promise<void> {
  await watchRow(ctx, watch_id);
  if (!(await ctx.db.watches.delete(watch_id))) throw notFound("watch");
  ctx.log.info({ watch_id }, "watch deleted");
}

/**
 * POST /watches/{id}/capture: a capture now, whatever the schedule says.
 * @throws AppError not_found; conflict while another capture is under way; what a submitted job is refused with
 */
export async function captureNow(ctx: JobCreateContext, watch_id: string): Promise<Job> {
  const row = await watchRow(ctx, watch_id);
  const job = await captureFor(ctx, row, null);
  if (job) return job;
  const { capturing } = await watchRow(ctx, watch_id);
  throw conflict(
    capturing === null
      ? "a capture of the watch has just ended: try again"
      : `capture ${capturing} of the watch is under way`,
  );
}
