import { systemClock } from "#shared/kit/clock.ts";
import { type Crawl, retryLater, type TaskContext } from "./context.ts";

/** What all workers know of a host's visits. Times are epoch ms. */
interface Visits {
  /** When the next page may be opened. */
  next_at: number;
  /** When the last of the tasks that went away comes back. */
  back_at: number;
  /** What is open, each until when it counts as such: a page by its address, anything else by its task as well. */
  open: Record<string, number>;
}
const NONE: Visits = { next_at: 0, back_at: 0, open: {} };

/** A page of a worker that died stops counting as open after this long. */
const OPEN_MS = 300_000;
/** A task waits this long in its slot; then it gives the slot to others. */
const IN_SLOT_MS = 3_000;
/** How often a task looks whether an open page has ended. */
const LOOK_MS = 200;
/** What a page takes, as far as anybody knows before it is opened. */
const PAGE_MS = 1_000;
const LONGEST_AWAY_MS = 300_000;

const keyOf = ({ name }: Crawl, address: string): string =>
  `${name}/visits/${new URL(address).host}`;

/** What is opened at a host. */
export interface Turn {
  address: string;
  /** What it is called among what is open there. */
  name: string;
  /** What the site asks for between two pages, in seconds. */
  delay_s: number;
}

/** The turn of what is no page: several tasks may want it at the same time, each in a place of its own. */
export const asideTurn = (address: string, delay_s: number, { task_id }: TaskContext): Turn => ({
  address,
  name: `${task_id} ${address}`,
  delay_s,
});

/** Opens something in its turn. @throws to come back later, or what `work` throws */
export async function inTurn<T>(
  crawl: Crawl,
  turn: Turn,
  ctx: TaskContext,
  work: () => Promise<T>,
): Promise<T> {
  await takeTurn(crawl, turn, ctx);
  try {
    return await work();
  } finally {
    await leave(crawl, turn, ctx);
  }
}

/**
 * Waits until the page may be opened: so many of its host at a time, and so long after the one before. All workers of
 * the crawl share the count, and each page takes its place in one conditional write.
 * @throws to come back later
 */
async function takeTurn(crawl: Crawl, turn: Turn, ctx: TaskContext): Promise<void> {
  const until = Date.now() + IN_SLOT_MS;
  const delay_ms = 1_000 * Math.max(crawl.settings.delay_s, turn.delay_s);
  for (;;) {
    const at = await askForTurn(crawl, turn, delay_ms, ctx);
    if (at !== null)
      return sleep(at - Date.now(), ctx.signal).catch(async (err) => {
        await leave(crawl, turn, ctx);
        throw err;
      });
    if (Date.now() >= until) throw await goAway(crawl, turn, delay_ms, ctx);
    await sleep(LOOK_MS, ctx.signal);
  }
}

/** When the page may be opened; null: not soon, or not before another one has ended. */
async function askForTurn(
  crawl: Crawl,
  { address, name }: Turn,
  delay_ms: number,
  { state }: TaskContext,
): Promise<number | null> {
  const { per_host } = crawl.settings;
  let turn: number | null = null;
  await state.update(
    keyOf(crawl, address),
    (value) => {
      const { next_at, back_at, open } = value as Visits;
      const now = Date.now();
      const others = Object.entries(open).filter(([one, end]) => one !== name && end > now);
      const at = Math.max(now, next_at);
      turn = others.length < per_host && at - now <= IN_SLOT_MS ? at : null;
      if (turn === null) return { next_at, back_at, open: Object.fromEntries(others) };
      const opened = Object.fromEntries([...others, [name, at + OPEN_MS]]);
      return { next_at: at + delay_ms, back_at, open: opened };
    },
    NONE,
  );
  return turn;
}

/**
 * Each task that goes away comes back at a time of its own, as far from the others as pages of its host begin, so that
 * tasks of a slow host do not take the slots from those of others again and again.
 */
async function goAway(
  crawl: Crawl,
  { address }: Turn,
  delay_ms: number,
  { state }: TaskContext,
): Promise<Error> {
  const apart_ms = Math.max(delay_ms, PAGE_MS / crawl.settings.per_host);
  let away_ms = 0;
  await state.update(
    keyOf(crawl, address),
    (value) => {
      const { next_at, back_at, open } = value as Visits;
      const now = Date.now();
      const after = Math.max(now, next_at, back_at) + apart_ms;
      away_ms = Math.min(after - now, LONGEST_AWAY_MS);
      return { next_at, back_at: now + away_ms, open };
    },
    NONE,
  );
  return retryLater(away_ms / 1_000, `${new URL(address).host} has no room yet`);
}

/**
 * The page is not open any more: the next one of its host may be. What became of the page counts also when the store
 * cannot be told: then its place is free after `OPEN_MS`.
 */
async function leave(crawl: Crawl, { address, name }: Turn, { state }: TaskContext): Promise<void> {
  const left = state.update(
    keyOf(crawl, address),
    (value) => {
      const { open, ...visits } = value as Visits;
      const { [name]: _, ...others } = open;
      return { ...visits, open: others };
    },
    NONE,
  );
  await left.catch(() => {});
}

/** @throws when the task must stop */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await systemClock.sleep(Math.max(0, ms), signal);
  signal.throwIfAborted();
}
