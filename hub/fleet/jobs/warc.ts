import type { AssetRow, JobRow } from "#hub/platform/db/rows.ts";
import { asciiUrl } from "#shared/kit/ascii-url.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import { JOB_DOCUMENTS } from "#shared/protocol/documents.ts";
import { HarEntry } from "#shared/protocol/schema/har.ts";
import { bodyOfEntry } from "../archive/entry-body.ts";
import {
  createHarRecords,
  type Planned,
  resourceRecord,
  warcBodyOf,
} from "../archive/har-records.ts";
import type { ArchivedPage } from "../archive/wacz-parts.ts";
import { bodyOf, bytesOf, recordId, warcFields } from "../archive/warc-record.ts";
import { type OnWritten, writeWarc } from "../archive/write-warc.ts";
import type { DocumentContext } from "./job-contexts.ts";
import { screenshotTime } from "./screenshot.ts";
import { createPages } from "./warc-pages.ts";
import {
  harOf,
  isMadeByHub,
  pageBody,
  pictureBody,
  readableAsset,
  textOfPage,
} from "./warc-sources.ts";

/** What is learnt while the records are made. */
interface WarcNotes {
  onWritten?: OnWritten;
  onPage?: (page: ArchivedPage) => void;
}

/** What the records of one archive share. */
interface Making {
  ctx: DocumentContext;
  row: JobRow;
  warcinfo_id: string;
  /** For what has no time of its own. */
  date: string;
}

/**
 * The WARC file of a job (rules/documents#web-archive), made while it is read from its HAR, its assets and its page. One
 * body is open at a time.
 */
export const warcChunks = (
  ctx: DocumentContext,
  row: JobRow,
  assets: AssetRow[],
  { onWritten, onPage }: WarcNotes = {},
): AsyncGenerator<Uint8Array> => writeWarc(recordsOf(ctx, row, assets, onPage), onWritten);

/** When the job was done. */
export const dateOfJob = (row: JobRow): string =>
  isoTime(row.finished_at ?? row.started_at ?? row.created_at);

async function* recordsOf(
  ctx: DocumentContext,
  row: JobRow,
  assets: AssetRow[],
  onPage: (page: ArchivedPage) => void = () => {},
): AsyncGenerator<Planned> {
  const making = { ctx, row, warcinfo_id: recordId(row.job_id), date: dateOfJob(row) };
  const pages = createPages();
  yield warcinfo(making);
  yield* recordsOfHar(making, assets, pages.add);
  const text = await textOfPage(ctx, row.job_id);
  const url = hideCredentials(row.final_url ?? row.url);
  const [main, ...others] = pages.list({ url, ts: making.date, title: row.title ?? url });
  onPage(text === null ? main : { ...main, text });
  for (const page of others) onPage(page);
  yield* recordsOfPage(making, main.url, text);
}

/** The records of the requests, and of the assets that no request names. */
async function* recordsOfHar(
  { ctx, row, warcinfo_id, date }: Making,
  assets: AssetRow[],
  onElement: (list: string, value: unknown) => void,
): AsyncGenerator<Planned> {
  const seed = row.job_id;
  const readable = new Map(assets.map((asset) => [asset.name, readableAsset(ctx, asset)]));
  const har = createHarRecords({ seed, warcinfo_id, date });
  const used = new Set<string>();
  const urls = new Set<string>();
  for await (const { list, value } of harOf(ctx, row.job_id)) {
    onElement(list, value);
    if (list !== "entries") continue;
    const entry = HarEntry.parse(value);
    if (!/^https?:/.test(entry.request.url)) continue;
    const asset = readable.get(entry.response.content._asset ?? "");
    yield* har.ofEntry(entry, asset);
    urls.add(entry.request.url);
    if (asset && ["whole", "joined"].includes(bodyOfEntry(entry, asset).how)) used.add(asset.name);
  }
  for (const asset of assets) {
    const body = readable.get(asset.name);
    if (!body || used.has(asset.name)) continue;
    yield resourceRecord({
      seed,
      warcinfo_id,
      uri: resourceUri(asset, urls),
      date: screenshotTime(asset.name) ?? date,
      mime: asset.mime,
      body: warcBodyOf(body),
    });
  }
}

/** Where replay finds an asset that no request names: never in place of an answer from the same URL. */
function resourceUri(asset: AssetRow, answered: ReadonlySet<string>): string {
  const { name, kind, source_url, refetched, partial } = asset;
  const url = hideCredentials(source_url);
  if (isMadeByHub(asset) && kind === "image") return `urn:view:${url}`;
  const is_own = !isMadeByHub(asset) && !refetched && !partial && /^https?:/.test(url);
  return is_own && !answered.has(url) ? url : `urn:asset:${name}`;
}

function warcinfo({ ctx, row, warcinfo_id, date }: Making): Planned {
  const fields = warcFields({
    software: `Flotilla/${ctx.version}`,
    format: "WARC File Format 1.1",
    conformsTo: "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
    description: `job ${row.job_id}: ${asciiUrl(hideCredentials(row.url))}`,
  });
  return {
    record: {
      type: "warcinfo",
      id: warcinfo_id,
      date,
      content_type: "application/warc-fields",
      fields: [["WARC-Filename", warcName(row.job_id)]],
      head: fields,
      body: null,
    },
    indexed: null,
  };
}

export const warcName = (job_id: string): string => `flotilla-${job_id}.warc.gz`;

/** The page as it was at the end, its text and pictures of it, under the names that browsertrix gives them. */
async function* recordsOfPage(
  { ctx, row, warcinfo_id, date }: Making,
  url: string,
  text: string | null,
): AsyncGenerator<Planned> {
  const of_all = { seed: row.job_id, warcinfo_id, date };
  const body = await pageBody(ctx, row.job_id);
  if (body && text !== null) {
    yield resourceRecord({ ...of_all, uri: `urn:dom:${url}`, mime: "text/html", body });
    const text_body = bodyOf(bytesOf(text));
    yield resourceRecord({
      ...of_all,
      uri: `urn:text:${url}`,
      mime: "text/plain",
      body: text_body,
    });
  }
  for (const [name, what] of PICTURES_OF_PAGE) {
    const picture = await pictureBody(ctx, row.job_id, name);
    const { mime } = JOB_DOCUMENTS[name];
    if (picture)
      yield resourceRecord({ ...of_all, uri: `urn:${what}:${url}`, mime, body: picture });
  }
}

const PICTURES_OF_PAGE = [
  ["screenshot.png", "fullPage"],
  ["thumbnail.webp", "thumbnail"],
] as const;
