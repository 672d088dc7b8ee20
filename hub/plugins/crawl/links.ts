import type { Job } from "#shared/client/index.ts";
import { readUpTo } from "#shared/kit/read-up-to.ts";
import { MAX_LINKS } from "#shared/protocol/limits.ts";
import { addressOf } from "./addresses.ts";
import type { Crawl, Task, TaskContext } from "./context.ts";
import { type Found, found, foundLinks, notToldYet } from "./found.ts";

/** Links that one run tells: a run emits at most 10,000 tasks. */
const PART = 5_000;
/** Of `page.html`: its head is at the start. */
const MAX_HTML_BYTES = 4 * 1024 * 1024;

/** A page of a crawl. */
export interface Place {
  address: string;
  depth: number;
  seed: string;
}

interface LinkPart {
  tasks: Found[];
  /** Links of the whole page that are in scope. */
  links: number;
  /** The page has more of them than its job. */
  cut: boolean;
}

/** The pages that the job's page leads to, in scope, each once: the first of them, and a task for those that follow. */
export async function linksOf(crawl: Crawl, job: Job, place: Place, from = 0): Promise<LinkPart> {
  const { address, depth, seed } = place;
  const tasks: Found[] = [];
  const arrived = addressOf(job.final_url ?? address) ?? address;
  if (arrived !== address && from === 0)
    tasks.push(found(crawl, arrived, { depth, seed, same_as: address }));
  const isPage = (job.http_status ?? 200) < 400;
  if (!isPage || (crawl.settings.depth !== null && depth >= crawl.settings.depth))
    return { tasks, links: 0, cut: false };
  const { named, cut } = await readPage(crawl, job, from > 0);
  const wanted = inScope(crawl, named, { ...place, arrived });
  const rest = [...wanted].filter(([, at]) => at >= from);
  for (const [link] of rest.slice(0, PART))
    tasks.push(found(crawl, link, { depth: depth + 1, seed }));
  const next = rest[PART];
  if (next) {
    const [, at] = next;
    tasks.push(foundLinks(crawl, { address, job_id: job.job_id, from: at }, { depth, seed }));
  }
  return { tasks, links: wanted.size, cut };
}

/** Tells a further part of a page's links, which its job has already. */
export async function crawlLinks(crawl: Crawl, { extra }: Task, ctx: TaskContext) {
  const { links: part, depth = 0, seed = "" } = extra ?? {};
  if (!part) throw new Error("this task has no links");
  const { address, job_id, from } = part;
  const job = await crawl.jobs.get(job_id).catch(orNone);
  if (job === null) throw linksGone(job_id);
  const { tasks, links, cut } = await linksOf(crawl, job, { address, depth, seed }, from);
  return { url: address, job_id, from, links, cut, emit: notToldYet(crawl, ctx, tasks) };
}

const linksGone = (job_id: string) =>
  new Error(`the links of job ${job_id} are not there any more`);

/**
 * The links in scope, each with its place among all that the page names: the scope may be another one when the next part
 * is read.
 */
function inScope(
  crawl: Crawl,
  named: readonly (string | null)[],
  { address, arrived, seed }: Place & { arrived: string },
): Map<string, number> {
  const wanted = new Map<string, number>();
  for (const [at, raw] of named.entries()) {
    const link = raw === null ? null : addressOf(raw, arrived);
    if (link === null || link === address || link === arrived || wanted.has(link)) continue;
    if (crawl.inScope(link, seed)) wanted.set(link, at);
  }
  return wanted;
}

/**
 * Where the page leads to: its canonical address first, then its links, null in the place of what is not followed. A page
 * that asks not to be followed is not, where robots count.
 * @throws when it has no links although it `must`
 */
async function readPage({ jobs, settings }: Crawl, { job_id }: Job, must: boolean) {
  const links = await jobs.links(job_id).catch(orNone);
  if (links === null && must) throw linksGone(job_id);
  const page = await jobs.file(job_id, "page.html").catch(orNone);
  const head = page ? await readHead(page) : { canonical: null, robots: "" };
  const { robots } = settings;
  const isFollowed = !robots || !/\b(nofollow|none)\b/i.test(head.robots);
  const follows = (rel: string) => isFollowed && !(robots && /\bnofollow\b/i.test(rel));
  const all = links ?? [];
  return {
    named: [head.canonical, ...all.map(({ url, rel }) => (follows(rel) ? url : null))],
    cut: all.length >= MAX_LINKS,
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
