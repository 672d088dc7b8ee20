import robotsParser from "robots-parser";
import type { Job } from "#shared/client/index.ts";
import type { Crawl, Robots, TaskContext } from "./context.ts";
import { bodyOf, readJob } from "./jobs.ts";
import { asideTurn, inTurn } from "./pace.ts";

/** A crawler has to read so much (RFC 9309, 2.5), may leave out what is behind it, and keeps what it read for a day (2.4). */
const LEAST_BYTES = 500 * 1024;
const MAX_BYTES = 512 * 1024;
const KEPT_MS = 86_400_000;
/** Origins whose robots.txt a process remembers; the others are in the plugin's state. */
const MAX_KEPT = 200;
/** A site that asks for more than this is visited at this pace. */
const MAX_DELAY_S = 300;

/** As the plugin's state has it; the time in epoch ms. */
interface KeptText {
  text: string;
  read_at: number;
}

const EVERYTHING: Robots = { allows: () => true, delay_s: 0, sitemaps: [] };

const isFresh = ({ read_at }: { read_at: number }): boolean => Date.now() - read_at < KEPT_MS;

/** The robots.txt of the page's site, read once a day for the whole crawl. @throws when it cannot be read */
export async function robotsOf(crawl: Crawl, address: string, ctx: TaskContext): Promise<Robots> {
  const { robots, agent } = crawl.settings;
  if (!robots) return EVERYTHING;
  const { origin } = new URL(address);
  const met = crawl.robots.get(origin);
  if (met && isFresh(met)) return met.rules;
  const { text, read_at } = await keptText(crawl, origin, ctx);
  const parsed = robotsParser(`${origin}/robots.txt`, text);
  const rules: Robots = {
    allows: (one) => parsed.isAllowed(one, agent) !== false,
    delay_s: Math.min(parsed.getCrawlDelay(agent) ?? 0, MAX_DELAY_S),
    sitemaps: parsed.getSitemaps(),
  };
  if (crawl.robots.size >= MAX_KEPT) crawl.robots.clear();
  crawl.robots.set(origin, { rules, read_at });
  return rules;
}

async function keptText(crawl: Crawl, origin: string, ctx: TaskContext): Promise<KeptText> {
  const place = `${crawl.name}/robots/${origin}`;
  const address = `${origin}/robots.txt`;
  const known = async () => {
    const kept = (await ctx.state.get(place)) as KeptText | null;
    return kept && isFresh(kept) ? kept : null;
  };
  const before = await known();
  if (before) return before;
  // Which delay the site asks for is in it.
  return inTurn(crawl, asideTurn(address, 0, ctx), ctx, async () => {
    // Another task may have read it meanwhile.
    const now = await known();
    if (now) return now;
    const kept: KeptText = { text: await read(crawl, address, ctx), read_at: Date.now() };
    await ctx.state.set(place, kept);
    return kept;
  });
}

/**
 * A site without robots.txt (4xx) allows everything; one that cannot answer (5xx), or whose answer breaks off, allows
 * nothing for now (RFC 9309, 2.3.1): what is missing may be what it forbids.
 */
function read(crawl: Crawl, address: string, ctx: TaskContext): Promise<string> {
  const textOf = async (job: Job): Promise<string> => {
    const status = job.http_status ?? 0;
    if (status >= 400 && status < 500) return "";
    const body = await bodyOf(crawl, job, MAX_BYTES);
    if (body?.is_cut && body.bytes.length < LEAST_BYTES)
      throw new Error(`the body of ${address} was cut off`);
    return new TextDecoder().decode(body?.bytes);
  };
  return readJob(crawl, { address, purpose: "robots", read: textOf }, ctx);
}
