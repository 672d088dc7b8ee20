import type { Job } from "#shared/client/index.ts";
import { readUpTo } from "#shared/kit/read-up-to.ts";
import { addressOf } from "./addresses.ts";
import { begin, end, giveUp, mayBegin } from "./begun.ts";
import type { Crawl, Task, TaskContext } from "./context.ts";
import { isFleetAway } from "./fleet-away.ts";
import { type Found, found, foundSitemap, notToldYet } from "./found.ts";
import { readJob } from "./jobs.ts";
import { inTurn } from "./pace.ts";
import { robotsOf } from "./robots.ts";

/** Links of one page that a crawl follows: a run emits at most 10,000 tasks. */
const MAX_LINKS = 5_000;
/** Sitemaps that a robots.txt may name. */
const MAX_MAPS = 1_000;
/** Of `page.html`: its head is at the start. */
const MAX_HTML_BYTES = 4 * 1024 * 1024;

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
  const links = await linksOf(crawl, job, { address, depth, seed });
  const maps = depth === 0 && crawl.settings.sitemaps ? sitemapsOf(address, named_maps) : [];
  const emit = [...maps.map((map) => foundSitemap(crawl, map, { depth, seed })), ...links];
  const { job_id, http_status, final_url, title } = job;
  await end(crawl, address, ctx);
  return { url: address, depth, job_id, http_status, final_url, title, links: links.length, emit };
}

/** Where a site keeps its sitemaps when its robots.txt names none. */
const sitemapsOf = (address: string, named: readonly string[]): readonly string[] =>
  named.length > 0 ? named.slice(0, MAX_MAPS) : [new URL("/sitemap.xml", address).href];

interface Place {
  address: string;
  depth: number;
  seed: string;
}

/** The pages that the job's page leads to, in scope, each once. */
async function linksOf(crawl: Crawl, job: Job, { address, depth, seed }: Place): Promise<Found[]> {
  const tasks = new Map<string, Found>();
  const arrived = addressOf(job.final_url ?? address);
  if (arrived !== null && arrived !== address)
    tasks.set(arrived, found(crawl, arrived, { depth, seed, same_as: address }));
  const isPage = (job.http_status ?? 200) < 400;
  if (!isPage || (crawl.settings.depth !== null && depth >= crawl.settings.depth))
    return [...tasks.values()];
  const { links, canonical, is_followed } = await readPage(crawl, job);
  const named = is_followed ? links : [];
  for (const raw of canonical === null ? named : [canonical, ...named]) {
    const link = addressOf(raw, arrived ?? address);
    if (link === null || link === address || tasks.has(link)) continue;
    if (tasks.size >= MAX_LINKS) break;
    if (crawl.inScope(link, seed)) tasks.set(link, found(crawl, link, { depth: depth + 1, seed }));
  }
  return [...tasks.values()];
}

/** What the page says of itself and of its links. A page that asks not to be followed is not, where robots count. */
async function readPage({ jobs, settings }: Crawl, { job_id }: Job) {
  const links = await jobs.links(job_id).catch(orNone);
  const page = await jobs.file(job_id, "page.html").catch(orNone);
  const followed = links?.filter(({ rel }) => !settings.robots || !/\bnofollow\b/i.test(rel)) ?? [];
  const head = page ? await readHead(page) : { canonical: null, robots: "" };
  return {
    links: followed.map(({ url }) => url),
    canonical: head.canonical,
    is_followed: !settings.robots || !/\b(nofollow|none)\b/i.test(head.robots),
  };
}

/** A job of something that is no page has no such file. */
function orNone(err: unknown): null {
  if ((err as { status?: number }).status === 404) return null;
  throw err;
}

async function readHead(page: Response) {
  const head = { canonical: null as string | null, robots: "" };
  const rewriter = new HTMLRewriter()
    .on('link[rel="canonical" i]', {
      element: (link) => {
        head.canonical ??= link.getAttribute("href");
      },
    })
    .on('meta[name="robots" i]', {
      element: (meta) => {
        head.robots += ` ${meta.getAttribute("content") ?? ""}`;
      },
    });
  const { bytes } = await readUpTo(page, MAX_HTML_BYTES);
  await rewriter.transform(new Response(bytes)).arrayBuffer();
  return head;
}
