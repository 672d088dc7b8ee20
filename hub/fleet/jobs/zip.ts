import { makeZip } from "client-zip";
import type { AssetRow, JobRow } from "#hub/platform/db/rows.ts";
import { notFound } from "#shared/kit/errors.ts";
import { DOCUMENT_NAMES } from "#shared/protocol/schema/asset.ts";
import type { FleetContext } from "../context.ts";
import { assetKey, documentKey } from "./files.ts";
import { logText } from "./log-text.ts";
import { getRow } from "./read.ts";
import { assetRecord } from "./record.ts";

interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

interface ZipEntry {
  name: string;
  input: string | ReadableStream<Uint8Array>;
  lastModified: Date;
}

/**
 * GET /jobs/{id}/assets.zip (rules/documents#archive): `assets.json` (the listing), `log.txt`, `page.html`,
 * `links.json` and `har.json` where they exist, and every body below `assets/`, stored without compression, which would
 * gain nothing on media. Zip64 where the sizes need it. A running job gives what is there when the call comes in. One
 * body is open at a time, and none before the reader asks for it.
 * @throws AppError not_found.
 */
export async function zipJob(
  ctx: FleetContext,
  job_id: string,
): Promise<{ filename: string; body: ReadableStream<Uint8Array> }> {
  const row = await getRow(ctx, job_id);
  const assets = await ctx.db.assets.list(row.job_id);
  const source = openOneByOne();
  const zip = makeZip(entriesOf(ctx, row, assets, source.open)).getReader();
  const body = passOn(zip, async (reason) => {
    await source.close();
    // client-zip reports the cancellation to the generator as an error.
    await zip.cancel(reason).catch(() => {});
  });
  return { filename: `flotilla-${row.job_id}.zip`, body };
}

async function* entriesOf(
  ctx: FleetContext,
  row: JobRow,
  assets: AssetRow[],
  open: (body: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array>,
): AsyncGenerator<ZipEntry> {
  const { job_id } = row;
  const lastModified = new Date(row.finished_at ?? row.started_at ?? row.created_at);
  const items = assets.map(assetRecord);
  const listing = JSON.stringify({ job_id, count: items.length, items }, null, 2);
  yield { name: "assets.json", input: listing, lastModified };
  yield { name: "log.txt", input: logText(ctx, row), lastModified };
  for (const name of DOCUMENT_NAMES) {
    const body = await ctx.objects.read(documentKey(job_id, name));
    if (body) yield { name, input: open(body), lastModified };
  }
  for (const { name } of assets) {
    const body = await ctx.objects.read(assetKey(job_id, name));
    // Deleted since the listing: the answer breaks off, because an archive that lacks a listed file would look whole.
    if (!body) throw notFound("asset");
    yield { name: `assets/${name}`, input: open(body), lastModified };
  }
}

/**
 * When the archive is cancelled, client-zip drops the body it is reading without cancelling it: the file would stay
 * open until the garbage collector finds it.
 */
function openOneByOne() {
  let open: Reader | null = null;
  let closed = false;
  return {
    open: (body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> => {
      open = body.getReader();
      // The store was still opening it when the reader left.
      if (closed) void open.cancel();
      return passOn(open);
    },
    close: async () => {
      closed = true;
      await open?.cancel();
    },
  };
}

/** What `reader` gives, asked for piece by piece; `onCancel` when nobody wants the rest. */
const passOn = (
  reader: Reader,
  onCancel?: (reason: unknown) => Promise<void>,
): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (done || !value) controller.close();
        else controller.enqueue(value);
      },
      ...(onCancel ? { cancel: onCancel } : {}),
    },
    { highWaterMark: 0 },
  );
