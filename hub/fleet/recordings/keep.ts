import type { RecordingRow } from "#hub/platform/db/rows.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { isTerminal } from "#shared/protocol/schema/job.ts";
import { framesOf } from "#shared/recording/frames.ts";
import { addToIndex } from "#shared/recording/index-of.ts";
import type { FleetContext } from "../context.ts";
import { fleetSetting } from "../registries/fleet-settings.ts";
import {
  deleteOldest,
  type Excess,
  newPass,
  RETENTION_BATCH,
  type RetentionPass,
} from "../retention/delete-oldest.ts";
import { forgetPart, notSealed, sealPart } from "./append.ts";
import { leftParts, type OpenPart, removePart } from "./open-parts.ts";
import { type RecordingsContext, recordingPrefix } from "./runs.ts";

/**
 * Seals what this hub had open when it was stopped or killed (rules/recordings#storage), unless another hub has more of it
 * by now. Never rejects: what cannot be sealed now is tried again at the next start.
 */
export async function sealLeftParts(ctx: RecordingsContext): Promise<void> {
  for await (const { run_id, base, bytes } of leftParts(ctx.recordings)) {
    try {
      await ctx.recordings.inTurn(run_id, async () => {
        // Its worker was faster, and sends all of it again.
        if (ctx.recordings.by_run.has(run_id)) return;
        const row = await ctx.db.recordings.get(run_id);
        if (row?.state === "live" && row.sealed === base && bytes.length > 0)
          await sealLeft(ctx, row, bytes);
        await removePart(ctx.recordings, { run_id, base });
      });
    } catch (err) {
      ctx.log.warn({ run_id, err: errorMessage(err) }, "the rest of a recording was not sealed");
    }
  }
}

async function sealLeft(
  ctx: RecordingsContext,
  row: RecordingRow,
  bytes: Uint8Array,
): Promise<void> {
  const part: OpenPart = {
    run_id: row.run_id,
    worker_id: "",
    base: row.sealed,
    bytes: bytes.length,
    parts: row.parts,
    contents: row.contents,
    appended_at: 0,
  };
  for (const frame of framesOf(bytes, row.sealed)) addToIndex(part.contents, frame);
  await sealPart(ctx, part, part.contents.end === null ? "live" : "whole");
}

/** A worker that records sends something more often than this, or its run is over. */
const SILENT_MS = 30_000;
/** How long a run may be over before its recording is: its worker may be on its way to another hub. */
const LOST_MS = 120_000;
const LOOKED_AT = 200;

/** Ends the recordings whose worker will send no more: it was killed, or lost its hub. */
export async function endLostRecordings(
  ctx: Pick<
    FleetContext,
    "awaited" | "clock" | "db" | "log" | "objects" | "recordings" | "sessions"
  >,
): Promise<void> {
  const now = ctx.clock.monotonic();
  for (const part of [...ctx.recordings.by_run.values()]) {
    if (now - part.appended_at < SILENT_MS) continue;
    // One that cannot be sealed does not keep the others open.
    await ctx.recordings.inTurn(part.run_id, () =>
      endSilent(ctx, part).catch((err) => notSealed(ctx, part, err)),
    );
  }
  for (const row of await ctx.db.recordings.listLive(ctx.clock.now() - LOST_MS, LOOKED_AT)) {
    if (ctx.recordings.by_run.has(row.run_id) || !(await isOver(ctx, row, LOST_MS))) continue;
    if (await ctx.db.recordings.end(row.run_id, "cut", ctx.clock.now()))
      ctx.log.warn({ run_id: row.run_id }, "a recording was lost with its hub or its worker");
  }
}

async function endSilent(
  ctx: Pick<
    FleetContext,
    "awaited" | "clock" | "db" | "log" | "objects" | "recordings" | "sessions"
  >,
  part: OpenPart,
): Promise<void> {
  const row = await ctx.db.recordings.get(part.run_id);
  if (row?.state !== "live") return forgetPart(ctx, part);
  const ended = part.contents.end !== null;
  if (ended || (await isOver(ctx, row))) await sealPart(ctx, part, ended ? "whole" : "cut");
}

/** Whether its run has been over for this long. */
async function isOver(
  ctx: Pick<FleetContext, "clock" | "db" | "sessions" | "awaited">,
  row: RecordingRow,
  ms = 0,
): Promise<boolean> {
  const { job_id, session_id } = row;
  const before = ctx.clock.now() - ms;
  if (job_id !== null) {
    const job = await ctx.db.jobs.get(job_id);
    return job === null || (isTerminal(job.status) && (job.finished_at ?? 0) <= before);
  }
  if (ctx.sessions.has(session_id) || ctx.awaited.sessions.has(session_id)) return false;
  const session = await ctx.db.sessions.get(session_id);
  return session === null || (session.ended_at !== null && session.ended_at <= before);
}

/** The objects go before the row, so that a delete which was cut off can be repeated. */
const removeRecording = (ctx: RecordingsContext, run_id: string): Promise<void> =>
  ctx.recordings.inTurn(run_id, async () => {
    const part = ctx.recordings.by_run.get(run_id);
    if (part) await forgetPart(ctx, part);
    await ctx.objects.deletePrefix(recordingPrefix(run_id));
    await ctx.db.recordings.delete(run_id);
  });

/** With the job. */
export async function removeRecordingsOf(ctx: RecordingsContext, job_id: string): Promise<void> {
  for (const { run_id } of await ctx.db.recordings.ofJob(job_id))
    await removeRecording(ctx, run_id);
}

const DAY_MS = 86_400_000;

type RetainContext = Pick<
  FleetContext,
  "db" | "recordings" | "objects" | "clock" | "log" | "meters" | "stores_health"
>;

/**
 * Deletes recordings that ended more than `recording_days` ago, then the oldest beyond `recording_max_bytes`, then those
 * beyond `recording_max_count` (rules/recordings#how-long-recordings-are-kept).
 */
export async function retainRecordings(
  ctx: RetainContext & Pick<FleetContext, "config" | "settings_cache">,
  pass = newPass(),
): Promise<void> {
  const days = await fleetSetting(ctx, "recording_days");
  const ended_before = ctx.clock.now() - days * DAY_MS;
  if (days > 0) await deleteRecordings(ctx, pass, { ended_before });
  const max_bytes = await fleetSetting(ctx, "recording_max_bytes");
  if (max_bytes > 0) {
    const over = (await ctx.db.recordings.totalBytes()) - max_bytes;
    const shareOf = (row: RecordingRow) => row.sealed + row.body_bytes;
    await deleteRecordings(ctx, pass, { over, shareOf });
  }
  const max_count = await fleetSetting(ctx, "recording_max_count");
  if (max_count > 0) {
    const over = (await ctx.db.recordings.endedCount()) - max_count;
    await deleteRecordings(ctx, pass, { over, shareOf: () => 1 });
  }
}

const deleteRecordings = (
  ctx: RetainContext,
  pass: RetentionPass,
  { ended_before, over, shareOf }: Excess<RecordingRow> & { ended_before?: number },
): Promise<number> =>
  deleteOldest<RecordingRow>(ctx, pass, {
    what: "recording",
    over,
    shareOf,
    idOf: ({ run_id }) => run_id,
    read: (after) => ctx.db.recordings.oldestEnded({ ended_before, after, limit: RETENTION_BATCH }),
    remove: ({ run_id }) => removeRecording(ctx, run_id),
  });
