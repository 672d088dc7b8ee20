import type { JobRow } from "#hub/platform/db/rows.ts";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { AppError } from "#shared/kit/errors.ts";
import { STORED_DOCUMENTS } from "#shared/protocol/documents.ts";
import { newJobId } from "#shared/protocol/ids.ts";
import { MAX_DOCUMENT_BYTES } from "#shared/protocol/limits.ts";
import { type Job, SubmitJob } from "#shared/protocol/schema/job.ts";
import { archiveRefusal } from "../archive/archive-refusal.ts";
import type { FleetContext } from "../context.ts";
import { announceEnd, logEvent, storeLines } from "../jobs/events.ts";
import type { JobEndContext } from "../jobs/job-contexts.ts";
import { jobRecord } from "../jobs/record.ts";
import { assetKey, documentKey, jobPrefix } from "../jobs/stored-files.ts";
import { newRow } from "../jobs/submit.ts";
import { type FoundPage, findPage } from "./find-page.ts";
import { type Gathered, gather } from "./gather.ts";
import { createBudget, IMPORT_LIMITS } from "./limits.ts";
import { makeHar } from "./make-har.ts";
import { reportOf } from "./report.ts";
import { type ArchiveSources, openArchive } from "./sources.ts";
import { type ArchiveUpload, spooled } from "./spool.ts";

/** What makes a job of an archive: it is stored like one that has arrived and ended. */
type ImportContext = JobEndContext & Pick<FleetContext, "arrivals" | "objects">;

/** Archives that one hub takes at a time: each writes its disk twice. */
const MOST_AT_ONCE = 2;
const RETRY_AFTER_S = 10;
/** Rows in one transaction: SQLite keeps everybody else waiting meanwhile, 0.7 ms for each row on a busy machine. */
const BATCH = 100;
/** No lane has it, so no other lease can be mistaken for it. */
const LEASE_TOKEN = 0;

/**
 * POST /jobs/import (rules/documents#import-of-a-web-archive): a web archive as a completed job. Nothing is seen of it
 * before it is whole, and nothing is left of one that is refused.
 */
export function createImporter(ctx: ImportContext) {
  let busy = 0;
  return async (upload: ArchiveUpload): Promise<Job> => {
    if (busy >= MOST_AT_ONCE) {
      await upload.body.cancel();
      throw new AppError("unavailable", "the hub is importing other archives; try again", {
        headers: { "Retry-After": String(RETRY_AFTER_S) },
      });
    }
    busy += 1;
    try {
      return await importJob(ctx, upload);
    } finally {
      busy -= 1;
    }
  };
}

async function importJob(ctx: ImportContext, upload: ArchiveUpload): Promise<Job> {
  const job_id = newJobId();
  const { signal } = upload;
  let row: JobRow | null = null;
  try {
    row = await spooled(ctx, job_id, upload, async (file) => {
      const sources = await openArchive(file);
      const count = createBudget(
        ctx.config.max_asset_bytes * IMPORT_LIMITS.unpacked_factor,
        signal,
      );
      const gathered = await gather(ctx, job_id, sources, count, signal);
      return storeJob(ctx, job_id, sources, gathered);
    });
    return jobRecord(row);
  } catch (err) {
    if (signal.aborted) throw new AppError("unavailable", "the import was stopped", { cause: err });
    throw archiveRefusal(err);
  } finally {
    if (!row && !(await ctx.db.jobs.get(job_id))) await ctx.objects.deletePrefix(jobPrefix(job_id));
  }
}

async function storeJob(
  ctx: ImportContext,
  job_id: string,
  sources: ArchiveSources,
  gathered: Gathered,
): Promise<JobRow> {
  nameTold(gathered);
  const { entries, bodies, page_url } = gathered;
  const page = findPage(sources.pages, page_url, entries.filled);
  const submitted = SubmitJob.safeParse({ url: page?.url });
  if (!page || !submitted.success)
    throw new ArchiveError("the archive has no page: a job needs an http or https URL");
  for (const asset of bodies.assets)
    if (asset.page_url === "") asset.page_url = pageUrl(page, asset);
  const saved = page_url === null ? await keepSentPage(ctx, job_id, page) : "saved";
  const pages = sources.pages.length > 0 ? sources.pages : [untitled(page)];
  const har = makeHar(entries.filled, pages, entries.dropped);
  await ctx.objects.put(documentKey(job_id, "har.json"), Buffer.from(har), {
    max_bytes: MAX_DOCUMENT_BYTES,
  });
  const row = newRow(ctx, job_id, submitted.data, null);
  return storeRows(ctx, row, page, gathered, reportOf(gathered, sources, saved));
}

/** What is no answer to a request belongs to the page, unless it has the page's own URL: then it would be a picture of it. */
const pageUrl = (
  page: FoundPage,
  { status, source_url }: { status: number | null; source_url: string },
) => (status === null && source_url === page.url ? "" : page.url);

const untitled = ({ url, document }: FoundPage) => ({
  url,
  ts: document?.entry.startedDateTime ?? "",
  title: "",
});

/** Ranges of a file are told of before the file comes. */
function nameTold({ told, entries, bodies }: Gathered): void {
  const assets = new Map(bodies.assets.map((asset) => [asset.name, asset]));
  const filled = new Map(entries.filled.map((one) => [one.entry, one]));
  for (const { entry, asset_name } of [...told.values()].flat()) {
    const one = filled.get(entry);
    if (one) one.asset = assets.get(asset_name) ?? null;
  }
}

/** Archives of others have no page as it was at the end. */
async function keepSentPage(
  ctx: Pick<FleetContext, "objects">,
  job_id: string,
  { document }: FoundPage,
): Promise<"sent" | "none"> {
  const asset = document?.asset;
  if (!asset || !/html/.test(asset.mime) || asset.size > MAX_DOCUMENT_BYTES) return "none";
  const body = await ctx.objects.read(assetKey(job_id, asset.name));
  if (!body) return "none";
  await ctx.objects.put(documentKey(job_id, "page.html"), body);
  return "sent";
}

/** They were stored before there was a job to count them for. */
async function noteDocuments(
  ctx: Pick<FleetContext, "db" | "objects">,
  job_id: string,
): Promise<void> {
  for (const name of STORED_DOCUMENTS) {
    const found = await ctx.objects.stat(documentKey(job_id, name));
    if (found) await ctx.db.documents.put(job_id, name, found.size);
  }
}

/** The job runs for the moment in which its assets are stored: they need a lease, and a hub that starts fails the rest. */
async function storeRows(
  ctx: ImportContext,
  row: JobRow,
  { title, document }: FoundPage,
  { bodies: { assets }, records, pictures }: Gathered,
  capture: NonNullable<JobRow["capture"]>,
): Promise<JobRow> {
  const { job_id } = row;
  const held = { status: "running", started_at: row.created_at, lease_token: LEASE_TOKEN } as const;
  await ctx.db.jobs.insert({ ...row, ...held, hub_id: ctx.hub_id, stage: "import" });
  for (let at = 0; at < assets.length; at += BATCH)
    await ctx.db.assets.putMany(job_id, assets.slice(at, at + BATCH), LEASE_TOKEN);
  await noteDocuments(ctx, job_id);
  const ts = ctx.clock.now();
  const message = `imported from a web archive: ${records} records, ${assets.length} assets`;
  const fields = { ...capture.imported };
  await storeLines(ctx, job_id, [
    logEvent({ ts, level: "info", stage: "import", message, fields }),
  ]);
  const ended = await ctx.db.jobs.finish(job_id, LEASE_TOKEN, {
    status: "completed",
    error: null,
    now: ctx.clock.now(),
    stage: "import",
    title,
    capture,
    http_status: document?.entry.response.status ?? null,
    final_url: document?.entry.request.url ?? null,
    final_state: { ...pictures, favicon: null },
  });
  if (!ended) throw new AppError("conflict", "the job was cancelled while it was stored");
  await announceEnd(ctx, ended);
  return ended;
}
