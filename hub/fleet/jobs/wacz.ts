import type { JobRow } from "#hub/platform/db/rows.ts";
import { streamOf } from "#shared/archive/streams.ts";
import { notFound } from "#shared/kit/errors.ts";
import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import { cdxjLine } from "../archive/cdxj.ts";
import {
  type ArchivedPage,
  indexText,
  measured,
  type PackedFile,
  packageText,
  packedText,
  pagesText,
} from "../archive/wacz-parts.ts";
import type { FleetContext } from "../context.ts";
import { dateOfJob, warcChunks, warcName } from "./warc.ts";
import { type Opener, streamZip, type ZipEntry } from "./zip-stream.ts";

/**
 * GET /jobs/{id}/archive.wacz (rules/documents#web-archive): the job's WARC file with its index and its pages as WACZ
 * 1.1.1. The WARC comes first, because the rest is learnt while it is made.
 */
export const waczOfJob = async (ctx: FleetContext, row: JobRow) => waczOfJobs(ctx, [row]);

/** One WACZ of several jobs (rules/documents#web-archive-of-several-jobs), with a WARC file for each. */
export const waczOfJobs = (ctx: FleetContext, rows: readonly JobRow[]) =>
  streamZip((open) => entriesOf(ctx, rows, open));

/** What is learnt while the WARC files go by. */
interface Learnt {
  index: string[];
  pages: ArchivedPage[];
  files: PackedFile[];
}

async function* entriesOf(
  ctx: FleetContext,
  rows: readonly JobRow[],
  open: Opener,
): AsyncGenerator<ZipEntry> {
  const learnt: Learnt = { index: [], pages: [], files: [] };
  for (const row of rows) yield await warcEntry(ctx, row, open, learnt);
  const { index, pages, files } = learnt;
  const created = rows.map(dateOfJob).toSorted().at(-1) ?? "";
  const lastModified = new Date(created);
  const texts: [string, string][] = [
    ["indexes/index.cdxj", indexText(index)],
    ["pages/pages.jsonl", pagesText(pages, (n) => `page-${n + 1}`)],
  ];
  for (const [name, input] of texts) {
    files.push(packedText(name, input));
    yield { name, input, lastModified };
  }
  const software = `Flotilla/${ctx.version}`;
  const facts = { title: titleOf(rows), created, software, main: pages[0] };
  const input = packageText(facts, files);
  yield { name: "datapackage.json", input, lastModified };
  const digest = { path: "datapackage.json", hash: packedText("datapackage.json", input).hash };
  yield { name: "datapackage-digest.json", input: JSON.stringify(digest, null, 2), lastModified };
}

async function warcEntry(
  ctx: FleetContext,
  row: JobRow,
  open: Opener,
  { index, pages, files }: Learnt,
): Promise<ZipEntry> {
  // Deleted meanwhile: the answer breaks off, because an archive that lacks a job would look whole.
  if (!(await ctx.db.jobs.get(row.job_id))) throw notFound("job");
  const filename = warcName(row.job_id);
  const warc = warcChunks(ctx, row, await ctx.db.assets.list(row.job_id), {
    onWritten: (indexed, place) => index.push(cdxjLine(indexed, { ...place, filename })),
    onPage: (page) => pages.push(page),
  });
  const name = `archive/${filename}`;
  const body = streamOf(measured(name, warc, (file) => files.push(file)));
  return { name, input: open(body), lastModified: new Date(dateOfJob(row)) };
}

const titleOf = ([first, ...others]: readonly JobRow[]): string => {
  const title = first ? (first.title ?? hideCredentials(first.url)) : "";
  return others.length === 0 ? title : `${title} and ${others.length} more`;
};
