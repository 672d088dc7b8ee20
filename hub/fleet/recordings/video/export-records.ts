import type { RecordingRow } from "#hub/platform/db/rows.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { RecordingExport, type VideoFormat } from "#shared/recording/record.ts";
import type { FleetContext } from "../../context.ts";
import { recordingPrefix } from "../runs.ts";

/**
 * Where exports are. Of each format there is one: while it is made, the shared store has it, which every hub renews that is
 * alive; when it has ended, it lies beside the recording, and goes with it (rules/recordings#export-as-a-video).
 */

export type ExportsContext = Pick<
  FleetContext,
  "recordings" | "db" | "disk_room" | "objects" | "clock" | "log" | "kv" | "config"
>;

/** A hub that has not renewed an export for this long is gone. */
const ALIVE_MS = 30_000;
const LOST = "the hub that made it was stopped; ask for it again";

const liveKey = (run_id: string, format: VideoFormat) => `recording-export:${run_id}:${format}`;
const exportsPrefix = (run_id: string) => `${recordingPrefix(run_id)}/exports`;
const recordKey = (run_id: string, format: VideoFormat) =>
  `${exportsPrefix(run_id)}/${format}.json`;
export const videoKey = (run_id: string, { id, format }: RecordingExport): string =>
  `${exportsPrefix(run_id)}/${id}.${format}`;

/** What this hub, or another one, has of a format; null where nobody has asked for it. */
export async function readExport(
  ctx: ExportsContext,
  run_id: string,
  format: VideoFormat,
): Promise<RecordingExport | null> {
  const live = await ctx.kv.get<RecordingExport>(liveKey(run_id, format));
  if (live) return live;
  const body = await ctx.objects.read(recordKey(run_id, format));
  if (!body) return null;
  const stored = RecordingExport.safeParse(await new Response(body).json().catch(() => null));
  if (!stored.success) return null;
  const { status } = stored.data;
  if (status === "done" || status === "failed") return stored.data;
  return { ...stored.data, status: "failed", error: LOST };
}

/** Whether this export is the only one under way of its format from now on: one step decides for all hubs. */
export const claimExport = ({ kv }: ExportsContext, run_id: string, made: RecordingExport) =>
  kv.setIfAbsent(liveKey(run_id, made.format), made, ALIVE_MS);

/** Says that it goes on, and how far it is; false when it is not this hub's any more. */
export const renewExport = ({ kv }: ExportsContext, run_id: string, made: RecordingExport) =>
  kv.setIf(liveKey(run_id, made.format), { id: made.id }, made, ALIVE_MS);

/** It is not under way any longer. */
export const leaveExport = ({ kv }: ExportsContext, run_id: string, made: RecordingExport) =>
  kv.deleteIf(liveKey(run_id, made.format), { id: made.id });

/** Writes how it stands beside the recording; nothing stays where the recording has gone. */
export async function storeExport(
  ctx: ExportsContext,
  run_id: string,
  made: RecordingExport,
  video?: Blob,
): Promise<void> {
  const { objects, db, recordings } = ctx;
  await recordings.inTurn(run_id, async () => {
    if (video) await objects.put(videoKey(run_id, made), video.stream());
    await objects.put(recordKey(run_id, made.format), Buffer.from(JSON.stringify(made)));
    if (await db.recordings.get(run_id)) await removeOlder(ctx, run_id, made);
    else await objects.deletePrefix(recordingPrefix(run_id));
  });
}

/** The videos that this one replaces. */
async function removeOlder(
  { objects, log }: ExportsContext,
  run_id: string,
  made: RecordingExport,
): Promise<void> {
  const others = await objects.list(exportsPrefix(run_id));
  for (const key of others)
    if (key.endsWith(`.${made.format}`) && key !== videoKey(run_id, made))
      await objects
        .delete(key)
        .catch((err) =>
          log.warn({ run_id, err: errorMessage(err) }, "an older video was not removed"),
        );
}

/** Whether the recording can be made a video of; else why not. */
export function whyNoVideo({ state, contents }: RecordingRow): string | null {
  if (state === "live") return "the recording still grows: ask for a video when its run has ended";
  if (contents.chunks.length === 0)
    return "only what happened was recorded: there is no picture to make a video of";
  return null;
}
