import type { Job } from "#shared/client/index.ts";
import { addressOf } from "./addresses.ts";
import type { Crawl, Task, TaskContext } from "./context.ts";
import { type Found, found, foundSitemap, notToldYet } from "./found.ts";
import { type Body, bodyOf, readJob } from "./jobs.ts";
import { asideTurn, inTurn } from "./pace.ts";
import { robotsOf } from "./robots.ts";
import { EMPTY, MAX_SITEMAP_BYTES, readSitemap } from "./sitemaps.ts";

/** Addresses that one run tells: a sitemap has up to 50,000, and a run emits at most 10,000 tasks. */
const PART = 4_000;
/** A sitemap of sitemaps has no other such below it (sitemaps.org); a site that makes them without end is not followed. */
const DEEPEST = 2;

/** Reads a part of a sitemap; the next part is a task of its own, on the same job. */
export async function crawlSitemap(crawl: Crawl, { extra }: Task, ctx: TaskContext) {
  const { sitemap, depth = 0, seed = "" } = extra ?? {};
  if (!sitemap) throw new Error("this task has no sitemap");
  const address = addressOf(sitemap.address);
  if (address === null) return { url: sitemap.address, skipped: "not an address of the web" };
  const { job, body } = sitemap.job_id
    ? await opened(crawl, await crawl.jobs.get(sitemap.job_id))
    : await openSitemap(crawl, address, ctx);
  const { job_id, http_status } = job;
  if (isMissing(job)) return { url: address, job_id, http_status, skipped: "no sitemap" };
  const { pages, sitemaps, is_cut } = body ? readSitemap(body.bytes, body.is_cut) : EMPTY;
  const part = pages.slice(sitemap.from, sitemap.from + PART);
  const reaches = crawl.settings.depth === null || depth < crawl.settings.depth;
  const emit: Found[] = [];
  for (const raw of reaches ? part : []) {
    const page = addressOf(raw, address);
    if (page !== null && crawl.inScope(page, seed))
      emit.push(found(crawl, page, { depth: depth + 1, seed }));
  }
  if (sitemap.level < DEEPEST)
    for (const more of sitemaps.slice(sitemap.from, sitemap.from + PART))
      if (isOfSite(more, address))
        emit.push(foundSitemap(crawl, more, { depth, seed, level: sitemap.level + 1 }));
  const from = sitemap.from + PART;
  if (from < Math.max(pages.length, sitemaps.length))
    emit.push(
      foundSitemap(crawl, sitemap.address, { depth, seed, level: sitemap.level, from, job_id }),
    );
  return {
    url: address,
    job_id,
    http_status,
    pages: pages.length,
    cut: is_cut,
    emit: notToldYet(crawl, ctx, emit),
  };
}

interface Opened {
  job: Job;
  body: Body | null;
}

const isMissing = ({ http_status }: Job): boolean => (http_status ?? 0) >= 400;

const opened = async (crawl: Crawl, job: Job): Promise<Opened> => ({
  job,
  body: isMissing(job) ? null : await bodyOf(crawl, job, MAX_SITEMAP_BYTES),
});

async function openSitemap(crawl: Crawl, address: string, ctx: TaskContext): Promise<Opened> {
  const { delay_s } = await robotsOf(crawl, address, ctx);
  const turn = asideTurn(address, delay_s, ctx);
  const read = (job: Job) => opened(crawl, job);
  return inTurn(crawl, turn, ctx, () => readJob(crawl, { address, purpose: "sitemap", read }, ctx));
}

/** A sitemap speaks for its own host (sitemaps.org). */
const isOfSite = (raw: string, sitemap: string): boolean =>
  URL.parse(raw)?.host === new URL(sitemap).host;
