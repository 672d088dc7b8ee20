import type { Job } from "#shared/client/index.ts";
import { addressOf } from "./addresses.ts";
import { begin, end, giveUp, mayBegin } from "./begun.ts";
import type { Crawl, Task, TaskContext } from "./context.ts";
import { isFleetAway } from "./fleet-away.ts";
import { type Found, found, foundSitemap, notToldYet } from "./found.ts";
import { readJob } from "./jobs.ts";
import { linksOf, type Place } from "./links.ts";
import { inTurn } from "./pace.ts";
import { robotsOf } from "./robots.ts";

/** Sitemaps that a robots.txt may name. */
const MAX_MAPS = 1_000;

/**
 * Opens the page that the task names and tells its links. A page that is not opened says why in `skipped`.
 * @throws when it cannot be opened now
 */
export async function crawlPage(crawl: Crawl, task: Task, ctx: TaskContext) {
  const visited = await visit(crawl, task, ctx);
  if (visited.emit === undefined) return visited;
  // Not before nothing can fail any more: what this task does not tell after all, another one must.
  return { ...visited, emit: notToldYet(crawl, ctx, visited.emit) };
}

interface Visited {
  url: string;
  emit?: Found[];
  [told: string]: unknown;
}

async function visit(crawl: Crawl, { pk, extra }: Task, ctx: TaskContext): Promise<Visited> {
  const address = addressOf(pk);
  if (address === null) return { url: pk, skipped: "not an address of the web" };
  const { depth = 0, seed = address, same_as } = extra ?? {};
  if (same_as !== undefined) return { url: address, skipped: `the same page as ${same_as}` };
  // Written in another way: the page is the task of the one that all ways lead to.
  if (address !== pk)
    return {
      url: pk,
      skipped: `the same page as ${address}`,
      emit: [found(crawl, address, { depth, seed })],
    };
  const robots = await robotsOf(crawl, address, ctx);
  if (!robots.allows(address)) return { url: address, skipped: "robots.txt" };
  if (!(await mayBegin(crawl, address, ctx))) return { url: address, skipped: "limit" };
  const turn = { address, name: address, delay_s: robots.delay_s };
  return inTurn(crawl, turn, ctx, async () => {
    if (!(await begin(crawl, address, ctx))) return { url: address, skipped: "limit" };
    try {
      return await open(crawl, { address, depth, seed }, robots.sitemaps, ctx);
    } catch (err) {
      // A task that waits for the hub comes again, also after its last attempt.
      if (ctx.attempt >= ctx.max_attempts && !isFleetAway(err)) await giveUp(crawl, address, ctx);
      throw err;
    }
  });
}

async function open(
  crawl: Crawl,
  { address, depth, seed }: Place,
  named_maps: readonly string[],
  ctx: TaskContext,
): Promise<Visited> {
  const wanted = { address, purpose: "page", read: async (job: Job) => job } as const;
  const job = await readJob(crawl, wanted, ctx);
  const { tasks, links, cut } = await linksOf(crawl, job, { address, depth, seed });
  const maps = depth === 0 && crawl.settings.sitemaps ? sitemapsOf(address, named_maps) : [];
  const emit = [...maps.map((map) => foundSitemap(crawl, map, { depth, seed })), ...tasks];
  const { job_id, http_status, final_url, title } = job;
  await end(crawl, address, ctx);
  return { url: address, depth, job_id, http_status, final_url, title, links, cut, emit };
}

/** Where a site keeps its sitemaps when its robots.txt names none. */
const sitemapsOf = (address: string, named: readonly string[]): readonly string[] =>
  named.length > 0 ? named.slice(0, MAX_MAPS) : [new URL("/sitemap.xml", address).href];
