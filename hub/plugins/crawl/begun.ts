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

/** The counts that bound a page, and how many pages each may have. */
function countsOf({ name, settings }: Crawl, address: string): [key: string, limit: number][] {
  const { limit, limit_per_host } = settings;
  const all: [string, number] = [`${name}/begun`, limit];
  if (limit_per_host === null) return [all];
  return [all, [`${name}/begun/${new URL(address).host}`, limit_per_host]];
}

const hasRoom = ({ pages, open }: Begun, hash: string, limit: number): boolean =>
  hash in open || pages < limit;

/** Whether the page could be begun; a crawl that is full says so before a task waits for its turn. */
export async function mayBegin(crawl: Crawl, address: string, { state }: TaskContext) {
  for (const [key, limit] of countsOf(crawl, address))
    if (!hasRoom((await state.get(key, NONE)) as Begun, hashOf(address), limit)) return false;
  return true;
}

/** Counts the page, once however often its task comes. False: the crawl, or its part of this host, is full. */
export async function begin(crawl: Crawl, address: string, { state }: TaskContext) {
  const hash = hashOf(address);
  for (const [key, limit] of countsOf(crawl, address)) {
    let counted = false;
    const count = (value: unknown): Begun => {
      const { pages, open } = value as Begun;
      counted = hasRoom({ pages, open }, hash, limit);
      if (!counted || hash in open) return { pages, open };
      return { pages: pages + 1, open: { ...open, [hash]: true } };
    };
    await state.update(key, count, NONE);
    if (!counted) return false;
  }
  return true;
}

/** The page has ended: its task does not come again by itself. */
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

/** The page has failed for good. Where the store cannot be told, the page stays open, and its failure is what is told. */
export async function giveUp(crawl: Crawl, address: string, ctx: TaskContext): Promise<void> {
  await end(crawl, address, ctx).catch(() => {});
}
