import { callWithin } from "#shared/kit/call-within.ts";
import { DeadlineError } from "#shared/kit/clock.ts";
import { AppError, errorMessage, notFound } from "#shared/kit/errors.ts";
import { RecordingError } from "#shared/recording/frames.ts";
import type { ChunkPlace } from "#shared/recording/index-of.ts";
import type { FleetContext } from "../../context.ts";
import { type KnownRecording, readRecording, recordingOfSession } from "../read-recordings.ts";
import { type RecordingsContext, recordingPrefix } from "../runs.ts";
import { PictureError } from "../video/picture.ts";
import { lastPicture } from "./last-picture.ts";
import { smallWebp } from "./small-webp.ts";

/** The small picture of a recording's last moment (rules/recordings#the-small-picture-of-a-session). */

/** It goes with the recording, below whose prefix it lies. */
const thumbnailKey = (run_id: string): string => `${recordingPrefix(run_id)}/thumbnail.webp`;

/** A picture takes some tenths of a second; a store that hangs must not keep the others waiting. */
const DRAW_MS = 30_000;

const none = (why: string) => new AppError("not_found", `the session has no picture: ${why}`);

/**
 * What a session's screen showed last, as a small WebP. It is drawn when somebody asks for it, and kept beside the recording.
 * @throws AppError not_found where there is none; unavailable while too many wait, or when it takes too long
 */
export async function sessionThumbnail(
  ctx: RecordingsContext & Pick<FleetContext, "thumbnail_turns">,
  session_id: string,
): Promise<Uint8Array> {
  const known = await recordingOfSession(ctx, session_id);
  const { run_id, state, has_screen } = known.row;
  if (state === "live") throw none("its recording goes on, and has one when it has ended");
  if (!has_screen) throw none("its screen was not recorded");
  const kept = await readKept(ctx, run_id);
  if (kept) return kept;
  // Whoever asked for the same one meanwhile may have drawn it.
  return ctx.thumbnail_turns(async () => (await readKept(ctx, run_id)) ?? makeOne(ctx, known));
}

async function readKept(
  { objects }: Pick<FleetContext, "objects">,
  run_id: string,
): Promise<Uint8Array | null> {
  const body = await objects.read(thumbnailKey(run_id));
  return body && new Uint8Array(await new Response(body).arrayBuffer());
}

/** @throws AppError not_found, unavailable */
async function makeOne(ctx: RecordingsContext, known: KnownRecording): Promise<Uint8Array> {
  const { run_id } = known.row;
  const webp = await drawn(ctx, known).catch(async (err) => {
    await requireRecording(ctx, run_id);
    throw err;
  });
  if (webp === null) {
    // Lists do not name it again.
    await ctx.db.recordings.setScreenless(run_id);
    throw none("its screen cannot be drawn");
  }
  await keep(ctx, run_id, webp);
  return webp;
}

/** Null where the recording has nothing that can be drawn. @throws AppError unavailable; what the object store throws */
async function drawn(ctx: RecordingsContext, known: KnownRecording): Promise<Uint8Array | null> {
  const { run_id, contents } = known.row;
  const read = ({ offset, length }: ChunkPlace) =>
    readRecording(ctx, known, { start: offset, end: offset + length - 1 });
  const limit = { what: "drawing a picture of a recording", ms: DRAW_MS };
  try {
    return await callWithin(ctx.clock, limit, async (signal) => {
      const picture = await lastPicture({ chunks: contents.chunks, read, signal });
      return picture && (await smallWebp(picture));
    });
  } catch (err) {
    if (err instanceof DeadlineError) throw new AppError("unavailable", err.message);
    if (!(err instanceof PictureError || err instanceof RecordingError)) throw err;
    ctx.log.debug({ run_id, err: errorMessage(err) }, "a picture of a recording cannot be drawn");
    return null;
  }
}

/** One that cannot be kept is drawn again. @throws AppError not_found when the recording was deleted meanwhile */
async function keep(ctx: RecordingsContext, run_id: string, webp: Uint8Array): Promise<void> {
  const { objects, recordings, log } = ctx;
  const confirm = () => requireRecording(ctx, run_id);
  await recordings
    .inTurn(run_id, () => objects.put(thumbnailKey(run_id), webp, { confirm }))
    .catch(async (err) => {
      await requireRecording(ctx, run_id);
      log.warn({ run_id, err: errorMessage(err) }, "a picture of a recording was not kept");
    });
}

/** @throws AppError not_found */
async function requireRecording({ db }: Pick<FleetContext, "db">, run_id: string): Promise<void> {
  if ((await db.recordings.get(run_id)) === null) throw notFound("recording");
}
