import type { AssetRow } from "#hub/platform/db/rows.ts";
import { type Chunks, chunksOf } from "#shared/archive/streams.ts";
import { notFound } from "#shared/kit/errors.ts";
import type { ReadableAsset } from "../archive/entry-body.ts";
import { type HarElement, harElements } from "../archive/har-elements.ts";
import { bodyOf, type WarcBody } from "../archive/warc-record.ts";
import type { FleetContext } from "../context.ts";
import { visibleText } from "../page-text/visible-text.ts";
import { assetKey, documentKey } from "./stored-files.ts";

/** The text of a page is taken from its beginning: a quarter of a second's work on a slow core. */
const TEXT_OF_BYTES = 2 * 1024 * 1024;

/** Deleted since the listing: the answer breaks off, because an archive without a listed body would look whole. */
const read = async (ctx: Pick<FleetContext, "objects">, key: string): Promise<Chunks> => {
  const body = await ctx.objects.read(key);
  if (!body) throw notFound("asset");
  return chunksOf(body);
};

export const readableAsset = (
  ctx: Pick<FleetContext, "objects">,
  asset: AssetRow,
): ReadableAsset => ({
  ...asset,
  read: () => read(ctx, assetKey(asset.job_id, asset.name)),
});

/** A screenshot or a script's result: no browser received it, and its URL is that of the page. */
export const isMadeByHub = ({ status, source_url, page_url }: AssetRow): boolean =>
  status === null && source_url === page_url;

/** The pages and entries of a job's HAR; nothing while there is none. */
export async function* harOf(
  ctx: Pick<FleetContext, "objects">,
  job_id: string,
): AsyncGenerator<HarElement> {
  const body = await ctx.objects.read(documentKey(job_id, "har.json"));
  if (body) yield* harElements(chunksOf(body));
}

/** `page.html`; its digest is computed when it is written. */
export async function pageBody(
  ctx: Pick<FleetContext, "objects">,
  job_id: string,
): Promise<WarcBody | null> {
  const key = documentKey(job_id, "page.html");
  const info = await ctx.objects.stat(key);
  return (
    info && { size: info.size, sha256: null, is_compressed: false, read: () => read(ctx, key) }
  );
}

/** A picture of the page at the end, in memory: the index has its digest. Null where there is none. */
export async function pictureBody(
  ctx: Pick<FleetContext, "objects">,
  job_id: string,
  name: "screenshot.png" | "thumbnail.webp",
): Promise<WarcBody | null> {
  const body = await ctx.objects.read(documentKey(job_id, name));
  return body && { ...bodyOf(await new Response(body).bytes()), is_compressed: true };
}

export async function textOfPage(
  ctx: Pick<FleetContext, "objects">,
  job_id: string,
): Promise<string | null> {
  const range = { start: 0, end: TEXT_OF_BYTES - 1 };
  const body = await ctx.objects.read(documentKey(job_id, "page.html"), range);
  if (!body) return null;
  const { lines } = await visibleText(await new Response(body).text());
  return lines.join("\n");
}
