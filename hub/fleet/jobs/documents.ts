import type { JobRow } from "#hub/platform/db/rows.ts";
import { streamOf } from "#shared/archive/streams.ts";
import { type HubDocument, isStored, type JobDocument } from "#shared/protocol/documents.ts";
import type { DocumentContext } from "./job-contexts.ts";
import { logText } from "./log-text.ts";
import { documentKey } from "./stored-files.ts";
import { waczOfJob } from "./wacz.ts";
import { warcChunks } from "./warc.ts";
import { zipJob } from "./zip.ts";

type Body = ReadableStream<Uint8Array>;

/** What makes each document that no worker uploads. */
const MAKE: Record<HubDocument, (ctx: DocumentContext, row: JobRow) => Promise<Body>> = {
  "assets.zip": (ctx, row) => zipJob(ctx, row, (name) => readDocument(ctx, row, name)),
  "archive.warc.gz": async (ctx, row) =>
    streamOf(warcChunks(ctx, row, await ctx.db.assets.list(row.job_id))),
  "archive.wacz": waczOfJob,
  "log.txt": async (ctx, row) => logText(ctx, row),
};

/** A document as a stream; null while it does not exist. */
export const readDocument = (
  ctx: DocumentContext,
  row: JobRow,
  name: JobDocument,
): Promise<Body | null> =>
  isStored(name) ? ctx.objects.read(documentKey(row.job_id, name)) : MAKE[name](ctx, row);
