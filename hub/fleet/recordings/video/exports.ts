import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isProcessAlive } from "#hub/platform/process-alive.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { AppError, conflict, errorMessage } from "#shared/kit/errors.ts";
import { OWN_DIR } from "#shared/kit/own-dir.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { ChunkPlace } from "#shared/recording/index-of.ts";
import type { RecordingExport } from "#shared/recording/record.ts";
import { type KnownRecording, readRecording } from "../read-recordings.ts";
import { encodeVideo } from "./encode.ts";
import {
  claimExport,
  type ExportsContext,
  leaveExport,
  readExport,
  renewExport,
  storeExport,
  whyNoVideo,
} from "./export-records.ts";
import type { VideoExports } from "./parts.ts";
import { videoFrames, videoSize } from "./video-frames.ts";

/** One more waits longer than people do. */
const MAX_WAITING = 20;
const RENEW_MS = 2_000;
const NO_FFMPEG =
  "this hub has no ffmpeg, which makes videos: install the package ffmpeg on its machine, or set SVC_FFMPEG";

interface Waiting {
  known: KnownRecording;
  made: RecordingExport;
}

/** Where the program is; null where there is none. */
const findFfmpeg = (named: string | null): string | null => Bun.which(named ?? "ffmpeg");

/** What a video that is there needs no more. @throws AppError conflict, unavailable */
function requireMeans({ config, disk_room }: Pick<ExportsContext, "config" | "disk_room">): void {
  if (findFfmpeg(config.ffmpeg) === null) throw conflict(NO_FFMPEG);
  disk_room.requireRoom();
}

export function createVideoExports(of: () => ExportsContext): VideoExports {
  const stopping = new AbortController();
  const waiting: Waiting[] = [];
  let working: Promise<void> | null = null;
  const renewing = new Map<string, Waiting>();
  const work = async () => {
    for (let next = waiting[0]; next && !stopping.signal.aborted; next = waiting[0]) {
      await makeOne(of(), next, stopping.signal);
      waiting.shift();
      // From here on it is not renewed, which would bring it back.
      renewing.delete(next.made.id);
      await leave(of(), next);
    }
    working = null;
  };
  /** Tells the other hubs that they are alive, those that wait as well. */
  const renew = async () => {
    const { clock, log } = of();
    while (renewing.size > 0 && !stopping.signal.aborted) {
      await clock.sleep(RENEW_MS, stopping.signal);
      for (const { known, made } of renewing.values())
        await renewExport(of(), known.row.run_id, made).catch((err) =>
          log.warn({ err: errorMessage(err) }, "an export could not be renewed"),
        );
    }
    beating = null;
  };
  let beating: Promise<void> | null = null;
  return {
    ask: async (known, { format, speed }) => {
      const ctx = of();
      const { run_id } = known.row;
      const why = whyNoVideo(known.row);
      if (why !== null) throw conflict(why);
      const there = await readExport(ctx, run_id, format);
      if (there && there.status !== "failed") {
        if (there.speed === speed) return there;
        if (there.status !== "done")
          throw conflict(`an export at speed ${there.speed} is under way: wait until it has ended`);
      }
      requireMeans(ctx);
      if (waiting.length >= MAX_WAITING || stopping.signal.aborted)
        throw new AppError("unavailable", "too many exports wait for their turn; try again later");
      const made: RecordingExport = {
        id: newToken().slice(0, 12),
        format,
        speed,
        status: "queued",
        progress: 0,
        error: null,
        bytes: null,
        created_at: isoTime(ctx.clock.now()),
      };
      if (!(await claimExport(ctx, run_id, made))) {
        const first = await readExport(ctx, run_id, format);
        if (first) return first;
        throw conflict("another export of this recording has just ended: ask again");
      }
      const mine = { known, made };
      await storeExport(ctx, run_id, made).catch(async (err) => {
        await leave(ctx, mine);
        throw err;
      });
      waiting.push(mine);
      renewing.set(made.id, mine);
      working ??= work();
      beating ??= renew();
      return { ...made };
    },
    stop: async () => {
      stopping.abort(new Error("the hub was stopped"));
      await Promise.all([working, beating]);
    },
  };
}

/** Never rejects: what is not left ends by itself. */
async function leave(ctx: ExportsContext, { known, made }: Waiting): Promise<void> {
  const { run_id } = known.row;
  await leaveExport(ctx, run_id, made).catch((err) =>
    ctx.log.warn({ run_id, err: errorMessage(err) }, "an export that has ended was not left"),
  );
}

const dirOf = ({ config }: Pick<ExportsContext, "config">) => join(config.data_dir, "exports");

/** Makes one video, and stores how it ended. Never rejects. */
async function makeOne(
  ctx: ExportsContext,
  { known, made }: Waiting,
  signal: AbortSignal,
): Promise<void> {
  const { run_id } = known.row;
  const dir = join(dirOf(ctx), `${process.pid}-${made.id}`);
  const began = ctx.clock.monotonic();
  try {
    // The disk may have become short since it was asked for.
    ctx.disk_room.requireRoom();
    await mkdir(dir, { recursive: true, mode: OWN_DIR });
    made.status = "running";
    await renewExport(ctx, run_id, made);
    const file = join(dir, `video.${made.format}`);
    await encodeRecording(ctx, known, made, file, signal);
    const video = Bun.file(file);
    const done: RecordingExport = { ...made, status: "done", progress: 1, bytes: video.size };
    await storeExport(ctx, run_id, done, video);
    Object.assign(made, done);
    const took_ms = Math.round(ctx.clock.monotonic() - began);
    ctx.log.info({ run_id, format: made.format, bytes: made.bytes, took_ms }, "video made");
  } catch (err) {
    Object.assign(made, { status: "failed", error: errorMessage(err) });
    ctx.log.warn({ run_id, format: made.format, err: errorMessage(err) }, "a video was not made");
    // Where this fails too, what lies there says that it was queued, and nobody renews it.
    await storeExport(ctx, run_id, made).catch(() => {});
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function encodeRecording(
  ctx: ExportsContext,
  known: KnownRecording,
  made: RecordingExport,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const program = findFfmpeg(ctx.config.ffmpeg);
  if (program === null) throw new Error(NO_FFMPEG);
  const { contents: index } = known.row;
  const { format, speed } = made;
  const read = ({ offset, length }: ChunkPlace) =>
    readRecording(ctx, known, { start: offset, end: offset + length - 1 });
  await encodeVideo({
    program,
    format,
    file,
    signal,
    size: videoSize(index.chunks),
    frames: videoFrames({ index, speed, read }),
    onFrame: ({ drawn_ms }) => {
      made.progress = Math.round((drawn_ms / Math.max(1, index.ms)) * 1_000) / 1_000;
    },
  });
}

/** Removes what was being made when a hub was killed. Never rejects. */
export async function sweepExports(ctx: Pick<ExportsContext, "config" | "log">): Promise<void> {
  const names = await readdir(dirOf(ctx)).catch((): string[] => []);
  for (const name of names) {
    const pid = Number(/^(\d+)-[\w-]+$/.exec(name)?.[1] ?? 0);
    if (pid === 0 || (pid !== process.pid && isProcessAlive(pid))) continue;
    await rm(join(dirOf(ctx), name), { recursive: true, force: true }).catch((err) =>
      ctx.log.warn({ name, err: errorMessage(err) }, "the rest of an export was not removed"),
    );
  }
}
