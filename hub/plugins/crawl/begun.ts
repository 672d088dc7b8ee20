import type { Crawl, TaskContext } from "./context.ts";

/**
 * Pages that a crawl has begun, of all hosts or of one. `open` holds hashes of those that have not ended, so that none of
 * them counts twice when its task comes again. Hashes, because a value of the store is at most 1 MiB, and all pages of a
 * site that is down may be open.
 */
interface Begun {
  pages: number;
  open: Record<string, true>;
}
const NONE: Begun = { pages: 0, open: {} };
const hashOf = (address: string): string => Bun.hash(address).toString(36);

/** A page that failed for good is not open any more; should its task be reset, it is counted already. */
const failedKey = ({ name }: Crawl, { task_id }: TaskContext): string =>
  `${name}/failed/${task_id}`;

/** Whether the page was counted before its task failed for good and was reset: then the task was claimed more often. */
const hasFailed = async (crawl: Crawl, ctx: TaskContext): Promise<boolean> =>
  ctx.epoch > ctx.attempt && (await ctx.state.get(failedKey(crawl, ctx))) !== null;

/**
 * The counts that bound a page, and how many pages each may have. Its host's comes first: a page for which that is full
 * takes no place from pages of other hosts.
 */
function countsOf({ name, settings }: Crawl, address: string): [key: string, limit: number][] {
  const { limit, limit_per_host } = settings;
  const all: [string, number] = [`${name}/begun`, limit];
  if (limit_per_host === null) return [all];
  return [[`${name}/begun/${new URL(address).host}`, limit_per_host], all];
}

const hasRoom = ({ pages, open }: Begun, hash: string, limit: number): boolean =>
  hash in open || pages < limit;

/** Whether the page could be begun; a crawl that is full says so before a task waits for its turn. */
export async function mayBegin(crawl: Crawl, address: string, ctx: TaskContext) {
  for (const [key, limit] of countsOf(crawl, address))
    if (!hasRoom((await ctx.state.get(key, NONE)) as Begun, hashOf(address), limit))
      return hasFailed(crawl, ctx);
  return true;
}

/** Counts the page, once however often its task comes. False: the crawl, or its part of this host, is full. */
export async function begin(crawl: Crawl, address: string, ctx: TaskContext) {
  if (await hasFailed(crawl, ctx)) return true;
  const hash = hashOf(address);
  for (const [key, limit] of countsOf(crawl, address)) {
    let counted = false;
    const count = (value: unknown): Begun => {
      const { pages, open } = value as Begun;
      counted = hasRoom({ pages, open }, hash, limit);
      if (!counted || hash in open) return { pages, open };
      return { pages: pages + 1, open: { ...open, [hash]: true } };
    };
    await ctx.state.update(key, count, NONE);
    if (!counted) return false;
  }
  return true;
}

/** The page has ended: its task does not come again. */
export async function end(crawl: Crawl, address: string, { state }: TaskContext): Promise<void> {
  for (const [key] of countsOf(crawl, address))
    await state.update(
      key,
      (value) => {
        const { pages, open } = value as Begun;
        const { [hashOf(address)]: _, ...others } = open;
        return { pages, open: others };
      },
      NONE,
    );
}

/**
 * The page has failed for good: its task comes again only when it is reset. Where the store cannot be told, the page stays
 * open, which counts it once as well, and the page's own failure is what its run says.
 */
export async function giveUp(crawl: Crawl, address: string, ctx: TaskContext): Promise<void> {
  const told = async () => {
    await ctx.state.set(failedKey(crawl, ctx), true);
    await end(crawl, address, ctx);
  };
  await told().catch(() => {});
}
