import type { AssetRow, JobRow } from "#hub/platform/db/rows.ts";
import { notFound } from "#shared/kit/errors.ts";
import { ARCHIVED_DOCUMENTS, type JobDocument } from "#shared/protocol/documents.ts";
import type { FleetContext } from "../context.ts";
import { assetRecord } from "./record.ts";
import { assetKey } from "./stored-files.ts";
import { type Opener, streamZip, type ZipEntry } from "./zip-stream.ts";

type Body = ReadableStream<Uint8Array>;

/**
 * GET /jobs/{id}/assets.zip (rules/documents#archive): `assets.json` (the listing), the documents that exist, and every
 * body below `assets/`, stored without compression, which would gain nothing on media. Zip64 where the sizes need it. A
 * running job gives what is there when the call comes in. One body is open at a time, and none before the reader asks
 * for it.
 */
export async function zipJob(
  ctx: Pick<FleetContext, "db" | "objects">,
  row: JobRow,
  documentOf: (name: JobDocument) => Promise<Body | null>,
): Promise<Body> {
  const assets = await ctx.db.assets.list(row.job_id);
  return streamZip((open) => entriesOf(ctx, row, assets, documentOf, open));
}

async function* entriesOf(
  ctx: Pick<FleetContext, "objects">,
  row: JobRow,
  assets: AssetRow[],
  documentOf: (name: JobDocument) => Promise<Body | null>,
  open: Opener,
): AsyncGenerator<ZipEntry> {
  const { job_id } = row;
  const lastModified = new Date(row.finished_at ?? row.started_at ?? row.created_at);
  const items = assets.map(assetRecord);
  const listing = JSON.stringify({ job_id, count: items.length, items }, null, 2);
  yield { name: "assets.json", input: listing, lastModified };
  for (const name of ARCHIVED_DOCUMENTS) {
    const body = await documentOf(name);
    if (body) yield { name, input: open(body), lastModified };
  }
  for (const { name } of assets) {
    const body = await ctx.objects.read(assetKey(job_id, name));
    // Deleted since the listing: the answer breaks off, because an archive that lacks a listed file would look whole.
    if (!body) throw notFound("asset");
    yield { name: `assets/${name}`, input: open(body), lastModified };
  }
}
