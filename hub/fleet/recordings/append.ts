import type { RecordingRow } from "#hub/platform/db/rows.ts";
import { AppError, conflict, invalid } from "#shared/kit/errors.ts";
import { RecordingEvent } from "#shared/recording/events.ts";
import { FRAME, type Frame, framesOf, jsonOf, RecordingError } from "#shared/recording/frames.ts";
import { addToIndex, emptyIndex } from "#shared/recording/index-of.ts";
import type { FleetContext } from "../context.ts";
import { appendToPart, type OpenPart, PartGone, readPart, removePart } from "./open-parts.ts";
import {
  eventsKey,
  partKey,
  type RecordingsContext,
  type Run,
  requestsKey,
  runIdOf,
} from "./runs.ts";

/** A part is sealed when it has this many bytes, and at the end of its recording. */
const PART_BYTES = 8 * 1024 * 1024;
/** How long it may become while the object store fails. */
const MOST_UNSEALED_BYTES = 4 * PART_BYTES;
/** What one call may add. */
export const MAX_APPEND_BYTES = 8 * 1024 * 1024;
/** More than any worker's own limits come to. */
const MAX_RECORDING_BYTES = 1024 * 1024 * 1024;

/** The recording has another length than the worker thinks: it goes on from there. */
const otherLength = (length: number): AppError =>
  new AppError("conflict", `the recording has ${length} bytes`, { body: { length } });

/**
 * Adds whole frames at the end of a run's recording (rules/recordings#on-the-way-to-the-hub), which begins with its first
 * call. @returns its length.
 * @throws AppError conflict with `length` where that is not `offset`, and without it when the recording is over; invalid
 *   when the bytes are no frames, too_large beyond the limit.
 */
export function appendToRecording(
  ctx: Pick<FleetContext, "recordings" | "clock" | "db" | "objects" | "log">,
  run: Run,
  offset: number,
  bytes: Uint8Array,
): Promise<number> {
  const run_id = runIdOf(run);
  return ctx.recordings.inTurn(run_id, async () => {
    const frames = wholeFrames(bytes, offset);
    const part = ctx.recordings.by_run.get(run_id) ?? (await openPart(ctx, run, frames[0]));
    const length = part.base + part.bytes;
    if (offset !== length) throw otherLength(length);
    if (frames.length === 0) return length;
    if (part.bytes > MOST_UNSEALED_BYTES)
      throw new AppError("unavailable", "the object store does not accept the recording");
    if (length + bytes.length > MAX_RECORDING_BYTES)
      throw new AppError("too_large", `a recording has at most ${MAX_RECORDING_BYTES} bytes`);
    // What an append that failed has written stays in the file: the worker sends it again, after the sealed parts.
    await appendToPart(ctx.recordings, part, bytes).catch(async (err) => {
      await forgetPart(ctx, part);
      throw err;
    });
    part.bytes += bytes.length;
    part.appended_at = ctx.clock.monotonic();
    for (const frame of frames) addToIndex(part.contents, frame);
    await sealWhenDue(ctx, part);
    return offset + bytes.length;
  });
}

/** What cannot be sealed now is tried again with the next frames, or by `endLostRecordings`. Never rejects. */
async function sealWhenDue(ctx: RecordingsContext, part: OpenPart): Promise<void> {
  const over = part.contents.end !== null;
  if (!over && part.bytes < PART_BYTES) return;
  await sealPart(ctx, part, over ? "whole" : "live").catch((err) => notSealed(ctx, part, err));
}

/**
 * A part whose file is gone is forgotten: its worker, if it is there, sends all of it again, and otherwise the recording
 * ends with what is sealed. Everything else is tried again.
 */
export async function notSealed(
  ctx: RecordingsContext,
  part: OpenPart,
  err: unknown,
): Promise<void> {
  ctx.log.warn({ run_id: part.run_id, err }, "a part of a recording was not sealed");
  if (err instanceof PartGone) await forgetPart(ctx, part);
}

/** @throws AppError invalid */
function wholeFrames(bytes: Uint8Array, offset: number): Frame[] {
  try {
    const frames = [...framesOf(bytes, offset)];
    const last = frames.at(-1);
    if ((last ? last.offset + last.length - offset : 0) === bytes.length) return frames;
  } catch (err) {
    if (!(err instanceof RecordingError)) throw err;
  }
  throw invalid(["body"], "must be whole frames of a recording");
}

/** What this hub knows of the recording before this call: nothing, or what is sealed. @throws AppError conflict */
async function openPart(
  ctx: Pick<FleetContext, "db" | "clock" | "recordings">,
  run: Run,
  first: Frame | undefined,
): Promise<OpenPart> {
  const run_id = runIdOf(run);
  const row = (await ctx.db.recordings.get(run_id)) ?? (await begin(ctx, run, first));
  if (row.state !== "live") throw conflict("the recording is over");
  const part: OpenPart = {
    run_id,
    worker_id: run.worker_id,
    base: row.sealed,
    bytes: 0,
    parts: [...row.parts],
    contents: structuredClone(row.contents),
    appended_at: ctx.clock.monotonic(),
  };
  // One of an earlier time here, which another hub has overtaken.
  await removePart(ctx.recordings, part);
  ctx.recordings.by_run.set(run_id, part);
  return part;
}

function begin(
  ctx: Pick<FleetContext, "db" | "clock">,
  run: Run,
  first: Frame | undefined,
): Promise<RecordingRow> {
  const start = first?.kind === FRAME.event ? RecordingEvent.safeParse(jsonOf(first)) : null;
  if (!start?.success || start.data.type !== "start" || first?.offset !== 0) throw otherLength(0);
  return ctx.db.recordings.begin({
    run_id: runIdOf(run),
    job_id: run.job_id,
    session_id: run.session_id,
    mode: start.data.mode,
    state: "live",
    started_at: ctx.clock.now(),
    ended_at: null,
    sealed: 0,
    body_bytes: 0,
    has_screen: false,
    parts: [],
    contents: emptyIndex(),
  });
}

/** What is not sealed of it is the worker's to send again. */
export async function forgetPart(ctx: RecordingsContext, part: OpenPart): Promise<void> {
  ctx.recordings.by_run.delete(part.run_id);
  await removePart(ctx.recordings, part).catch((err) =>
    ctx.log.warn({ run_id: part.run_id, err }, "an open part of a recording was not removed"),
  );
}

/**
 * Puts the open part into the object store, and its events beside it. Two hubs may do this with different pieces of one
 * recording: the row decides which of them counts, and objects are named by their place, so that neither damages the other.
 */
export async function sealPart(
  ctx: RecordingsContext,
  part: OpenPart,
  state: RecordingRow["state"],
): Promise<void> {
  const { run_id, base } = part;
  const bytes = await readPart(ctx.recordings, part);
  const sealed = base + part.bytes;
  if (bytes.length > 0) await putPart(ctx, run_id, base, bytes);
  const parts = bytes.length > 0 ? [...part.parts, sealed] : part.parts;
  const ended_at = state === "live" ? null : ctx.clock.now();
  const { contents } = part;
  const has_screen = contents.chunks.length > 0;
  const now = { sealed, parts, contents, has_screen, state, ended_at };
  const row = await ctx.db.recordings.seal(run_id, base, now);
  if (!row || state !== "live") return forgetPart(ctx, part);
  await removePart(ctx.recordings, part);
  Object.assign(part, { base: sealed, bytes: 0, parts });
}

async function putPart(
  { objects }: RecordingsContext,
  run_id: string,
  base: number,
  bytes: Uint8Array,
): Promise<void> {
  const place = { run_id, from: base, to: base + bytes.length };
  const frames = [...framesOf(bytes)];
  await objects.put(partKey(place), bytes);
  for (const [key, wanted] of [
    [eventsKey(place), FRAME.event],
    [requestsKey(place), FRAME.request],
  ] as const) {
    const found = frames.filter(({ kind }) => kind === wanted);
    const pieces = found.map(({ offset, length }) => bytes.subarray(offset, offset + length));
    if (pieces.length > 0) await objects.put(key, Buffer.concat(pieces));
  }
}
