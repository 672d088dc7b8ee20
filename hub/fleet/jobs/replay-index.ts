import type { JobRow } from "#hub/platform/db/rows.ts";
import { contentDisposition } from "#hub/platform/http/file-response.ts";
import { type Issue, invalid } from "#shared/kit/errors.ts";
import { HarEntry } from "#shared/protocol/schema/har.ts";
import type { ReplayEntry } from "#shared/protocol/schema/replay.ts";
import type { CreateSession } from "#shared/protocol/schema/session.ts";
import { replayEntryOf, replayEntryOfAsset } from "../archive/replay-entry.ts";
import type { FleetContext } from "../context.ts";
import { documentKey } from "./stored-files.ts";
import { harOf, isMadeByHub, readableAsset } from "./warc-sources.ts";

/** The job whose capture is to be replayed. @throws AppError invalid when there is none, or it has no capture */
export async function requireReplayable(
  ctx: Pick<FleetContext, "db" | "objects">,
  job_id: string,
  loc: Issue["loc"],
): Promise<JobRow> {
  const row = await ctx.db.jobs.get(job_id);
  if (!row) throw invalid(loc, "there is no such job");
  // A job that proves its scripts has stored a part of its capture.
  if (row.finished_at === null)
    throw invalid(loc, `job ${job_id} has not ended: its capture is complete when it has`);
  if (await ctx.objects.stat(documentKey(job_id, "har.json"))) return row;
  throw invalid(loc, `job ${job_id} has no capture`);
}

/** A session that shows a capture begins at its job's URL. @throws AppError invalid when there is no such capture */
export async function withReplayedUrl(
  ctx: Pick<FleetContext, "db" | "objects">,
  input: CreateSession,
): Promise<CreateSession> {
  if (input.replay === null) return input;
  const { url } = await requireReplayable(ctx, input.replay, ["body", "replay"]);
  return { ...input, url: input.url ?? url };
}

/** The requests of a job's capture in their order, then the bodies that no request names. */
async function* replayEntries(
  ctx: Pick<FleetContext, "db" | "objects">,
  { job_id, capture }: Pick<JobRow, "job_id" | "capture">,
): AsyncGenerator<ReplayEntry> {
  const assets = await ctx.db.assets.list(job_id);
  const readable = new Map(assets.map((asset) => [asset.name, readableAsset(ctx, asset)]));
  for await (const { list, value } of harOf(ctx, job_id)) {
    if (list !== "entries") continue;
    const entry = HarEntry.parse(value);
    if (!/^https?:/.test(entry.request.url)) continue;
    const { _asset = "" } = entry.response.content;
    yield replayEntryOf(entry, readable.get(_asset));
  }
  for (const one of assets) {
    const { name, status, partial, refetched, source_url } = one;
    const asset = readable.get(name);
    if (!asset || partial || refetched || isMadeByHub(one) || !/^https?:/.test(source_url))
      continue;
    // A file that the browser saved; its answer was seen by nobody.
    const is_download = status === null && !capture?.imported;
    const disposition = is_download ? contentDisposition(name, "attachment") : null;
    yield replayEntryOfAsset(asset, status === null || status === 206 ? 200 : status, disposition);
  }
}

/** The same as lines of JSON, read as fast as they are wanted. */
export function replayIndex(
  ctx: Pick<FleetContext, "db" | "objects">,
  row: Pick<JobRow, "job_id" | "capture">,
): ReadableStream<Uint8Array> {
  const entries = replayEntries(ctx, row);
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull: async (out) => {
      const { value, done } = await entries.next();
      if (done) out.close();
      else out.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
    },
    cancel: async () => void (await entries.return(undefined)),
  });
}
