import robotsParser from "robots-parser";
import type { Crawl, KeptRobots, Task, TaskContext } from "./context.ts";
import { bodyOf, jobOf } from "./jobs.ts";

/** What a site asks of crawlers (RFC 9309). */
export interface Robots {
  allows(address: string): boolean;
  /** `Crawl-delay`, in seconds; 0 without one. */
  delay_s: number;
  sitemaps: readonly string[];
}

/** A crawler need read no more than this (RFC 9309, 2.5), and keeps what it read for a day (2.4). */
const MAX_BYTES = 512 * 1024;
const KEPT_MS = 86_400_000;
/** Origins whose robots.txt a process remembers; the others are in the plugin's state. */
const MAX_KEPT = 200;
/** A site that asks for more than this is visited at this pace. */
const MAX_DELAY_S = 300;

const EVERYTHING: Robots = { allows: () => true, delay_s: 0, sitemaps: [] };

/** The robots.txt of the page's site, read once a day for the whole crawl. @throws when it cannot be read */
export async function robotsOf(
  crawl: Crawl,
  task: Task,
  address: string,
  ctx: TaskContext,
): Promise<Robots> {
  const { robots, agent } = crawl.settings;
  if (!robots) return EVERYTHING;
  const { origin } = new URL(address);
  const rules = robotsParser(`${origin}/robots.txt`, await textOf(crawl, task, origin, ctx));
  return {
    allows: (one) => rules.isAllowed(one, agent) !== false,
    delay_s: Math.min(rules.getCrawlDelay(agent) ?? 0, MAX_DELAY_S),
    sitemaps: rules.getSitemaps(),
  };
}

async function textOf(crawl: Crawl, task: Task, origin: string, ctx: TaskContext): Promise<string> {
  const { state } = ctx;
  const place = `${crawl.name}/robots/${origin}`;
  const isFresh = (kept: KeptRobots) => Date.now() - kept.read_at < KEPT_MS;
  const known = crawl.robots.get(origin) ?? ((await state.get(place)) as KeptRobots | null);
  if (known && isFresh(known)) {
    crawl.robots.set(origin, known);
    return known.text;
  }
  const text = await read(crawl, task, `${origin}/robots.txt`, ctx);
  const kept: KeptRobots = { text, read_at: Date.now() };
  if (crawl.robots.size >= MAX_KEPT) crawl.robots.clear();
  crawl.robots.set(origin, kept);
  await state.set(place, kept);
  return text;
}

/**
 * A site without robots.txt (4xx) allows everything; one that cannot answer (5xx) allows nothing for now (RFC 9309, 2.3.1).
 */
async function read(crawl: Crawl, task: Task, address: string, ctx: TaskContext): Promise<string> {
  const job = await jobOf(crawl, task, address, ctx, "robots");
  const status = job.http_status ?? 0;
  if (status >= 400 && status < 500) return "";
  if (status >= 500)
    throw new Error(`${address} answered ${status}: the site may not be crawled now`);
  const body = await bodyOf(crawl, job, MAX_BYTES);
  return body === null ? "" : new TextDecoder().decode(body);
}
