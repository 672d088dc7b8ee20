import { MAX_ADDRESS } from "./addresses.ts";
import type { Crawl, Extra, LinksPart, SitemapPart, TaskContext } from "./context.ts";

/** A task that a run gives the crawl. */
export interface Found {
  workload: string;
  pk: string;
  extra: Extra;
  /** Pages near the seed come first. */
  priority: number;
  once: true;
}

export const found = ({ name }: Crawl, pk: string, extra: Extra): Found => ({
  workload: name,
  pk,
  extra,
  priority: -(extra.depth ?? 0),
  once: true,
});

/** A sitemap, or the rest of one, as a task. */
export const foundSitemap = (
  crawl: Crawl,
  address: string,
  { level = 0, from = 0, job_id, ...extra }: Extra & Partial<Omit<SitemapPart, "address">>,
): Found => {
  const sitemap = { address, level, from, ...(job_id !== undefined && { job_id }) };
  // A job's name is short: the rest of a sitemap is a task also where its address is as long as a key may be.
  return found(crawl, `sitemap ${from} ${job_id ?? address}`, { ...extra, sitemap });
};

/** The rest of a page's links, as a task. */
export const foundLinks = (crawl: Crawl, links: LinksPart, extra: Extra): Found =>
  found(crawl, `links ${links.from} ${links.job_id}`, { ...extra, links });

/** Addresses kept of what was told; a crawl that meets more tells some of them twice, which the queue leaves alone. */
const MAX_TOLD = 200_000;

/**
 * Leaves out what another task of this process has told: every page of a site has the same menu. A task that comes again
 * tells its own links again, because its first report may be what was lost; whatever another task told is told by that
 * task until it is recorded.
 */
export function notToldYet(
  { told }: Crawl,
  { task_id }: TaskContext,
  tasks: readonly Found[],
): Found[] {
  if (told.size > MAX_TOLD) told.clear();
  return tasks.filter(({ pk }) => {
    // That of a sitemap is longer than its address.
    if (pk.length > MAX_ADDRESS) return false;
    const by = told.get(pk);
    if (by === undefined) told.set(pk, task_id);
    return by === undefined || by === task_id;
  });
}
