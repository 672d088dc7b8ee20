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
import type { DocumentContext } from "./job-contexts.ts";
import { dateOfJob, warcChunks, warcName } from "./warc.ts";
import { type Opener, streamZip, type ZipEntry } from "./zip-stream.ts";

/**
 * GET /jobs/{id}/archive.wacz (rules/documents#web-archive): the job's WARC file with its index and its pages as WACZ
 * 1.1.1. The WARC comes first, because the rest is learnt while it is made.
 */
export const waczOfJob = async (ctx: DocumentContext, { job_id }: JobRow) =>
  waczOfJobs(ctx, [job_id]);

/**
 * One WACZ of several jobs (rules/documents#web-archive-of-several-jobs), with a WARC file for each. A job is read when its
 * turn comes, so of many jobs only the index is held.
 */
export const waczOfJobs = (ctx: DocumentContext, job_ids: readonly string[]) =>
  streamZip((open) => entriesOf(ctx, job_ids, open));

/** What is learnt while the WARC files go by. */
interface Learnt {
  title: string | null;
  /** When the last of the jobs was done. */
  created: string;
  index: string[];
  pages: ArchivedPage[];
  files: PackedFile[];
}

async function* entriesOf(
  ctx: DocumentContext,
  job_ids: readonly string[],
  open: Opener,
): AsyncGenerator<ZipEntry> {
  const learnt: Learnt = { title: null, created: "", index: [], pages: [], files: [] };
  for (const job_id of job_ids) yield await warcEntry(ctx, job_id, open, learnt);
  const { index, pages, files, created } = learnt;
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
  const facts = { title: titleOf(learnt.title, job_ids.length), created, software, main: pages[0] };
  const input = packageText(facts, files);
  yield { name: "datapackage.json", input, lastModified };
  const digest = { path: "datapackage.json", hash: packedText("datapackage.json", input).hash };
  yield { name: "datapackage-digest.json", input: JSON.stringify(digest, null, 2), lastModified };
}

async function warcEntry(
  ctx: DocumentContext,
  job_id: string,
  open: Opener,
  learnt: Learnt,
): Promise<ZipEntry> {
  const { index, pages, files } = learnt;
  const row = await ctx.db.jobs.get(job_id);
  // Deleted meanwhile: the answer breaks off, because an archive that lacks a job would look whole.
  if (!row) throw notFound("job");
  learnt.title ??= row.title ?? hideCredentials(row.url);
  const date = dateOfJob(row);
  if (date > learnt.created) learnt.created = date;
  const filename = warcName(row.job_id);
  const warc = warcChunks(ctx, row, await ctx.db.assets.list(row.job_id), {
    onWritten: (indexed, place) => index.push(cdxjLine(indexed, { ...place, filename })),
    onPage: (page) => pages.push(page),
  });
  const name = `archive/${filename}`;
  const body = streamOf(measured(name, warc, (file) => files.push(file)));
  return { name, input: open(body), lastModified: new Date(date) };
}

const titleOf = (first: string | null, jobs: number): string =>
  jobs > 1 ? `${first} and ${jobs - 1} more` : (first ?? "");
