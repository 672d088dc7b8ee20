import type { Db } from "#hub/platform/db/storage.ts";
import { isoTime } from "#shared/kit/clock.ts";
import type { CaptureCounts, FigureRange, Figures } from "#shared/protocol/schema/figures.ts";

/** Captures over time (rules/figures#captures). */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long each range is, and a bucket of it: 24 to 30 of them. */
const RANGES: Record<FigureRange, { ms: number; bucket_ms: number }> = {
  "1h": { ms: HOUR_MS, bucket_ms: 2 * MINUTE_MS },
  "6h": { ms: 6 * HOUR_MS, bucket_ms: 15 * MINUTE_MS },
  "24h": { ms: 24 * HOUR_MS, bucket_ms: HOUR_MS },
  "7d": { ms: 168 * HOUR_MS, bucket_ms: 6 * HOUR_MS },
};

/** In a bucket whose jobs have all ended nothing changes but by deletion. */
const SETTLED_FOR_MS = 5 * MINUTE_MS;
/** Hosts of a bucket that are looked at. */
const MOST_HOSTS = 100;

interface Bucket {
  counts: CaptureCounts;
  failing: readonly { host: string; n: number }[];
  /** When it was counted, by a clock that does not jump. */
  at: number;
}

/** Settled buckets of one hub, by their length and start. */
export type BucketCache = Map<string, Bucket>;

export interface CapturesFigures {
  from: number;
  bucket_s: number;
  captures: Figures["captures"];
  /** Hosts with failures in the range, most of them first. */
  failing: readonly string[];
}

const NOTHING: CaptureCounts = { completed: 0, http_error: 0, failed: 0, cancelled: 0, open: 0 };

const giveWay = () => new Promise<void>((resolve) => setImmediate(resolve));

function countsOf(rows: Awaited<ReturnType<Db["figures"]["counts"]>>): CaptureCounts {
  const counts = { ...NOTHING };
  for (const { status, http_error, n } of rows) {
    if (status === "completed") counts[http_error ? "http_error" : "completed"] += n;
    else if (status === "failed" || status === "cancelled") counts[status] += n;
    else counts.open += n;
  }
  return counts;
}

const addUp = (all: readonly CaptureCounts[]): CaptureCounts => {
  const sum = { ...NOTHING };
  for (const counts of all)
    for (const name of Object.keys(sum) as (keyof CaptureCounts)[]) sum[name] += counts[name];
  return sum;
};

/** Buckets begin at whole multiples of their length, and the last one is the running one. */
export function bucketsOf(range: FigureRange, now: number): { from: number; until: number }[] {
  const { ms, bucket_ms } = RANGES[range];
  const last = Math.floor(now / bucket_ms) * bucket_ms;
  const n = Math.ceil(ms / bucket_ms);
  return Array.from({ length: n }, (_, i) => {
    const from = last - (n - 1 - i) * bucket_ms;
    return { from, until: from + bucket_ms - 1 };
  });
}

async function readBucket(
  db: Pick<Db, "figures">,
  { from, until }: { from: number; until: number },
  at: number,
): Promise<Bucket> {
  const counts = countsOf(await db.figures.counts(from, until));
  const bad = counts.failed + counts.http_error;
  const failing = bad === 0 ? [] : await db.figures.failingHosts(from, until, MOST_HOSTS);
  // A database in this process is read in steps between which others are served.
  await giveWay();
  return { counts, failing, at };
}

/**
 * Counts each bucket by the index of creation times, and those that are settled once in five minutes: what is read again
 * and again is the running bucket, however much lies before it.
 */
export async function readCaptures(
  db: Pick<Db, "figures">,
  cache: BucketCache,
  range: FigureRange,
  time: { now: number; monotonic: number },
): Promise<CapturesFigures> {
  const { bucket_ms } = RANGES[range];
  const spans = bucketsOf(range, time.now);
  const found: Bucket[] = [];
  for (const span of spans) {
    const key = `${bucket_ms} ${span.from}`;
    const kept = cache.get(key);
    const fresh = kept !== undefined && time.monotonic - kept.at < SETTLED_FOR_MS;
    const bucket = fresh ? kept : await readBucket(db, span, time.monotonic);
    found.push(bucket);
    const settled = span.until < time.now - MINUTE_MS && bucket.counts.open === 0;
    if (settled) cache.set(key, bucket);
    else cache.delete(key);
  }
  forgetOld(cache, time.monotonic);
  const hosts = new Map<string, number>();
  for (const { host, n } of found.flatMap(({ failing }) => failing))
    hosts.set(host, (hosts.get(host) ?? 0) + n);
  return {
    from: spans[0]?.from ?? time.now,
    bucket_s: bucket_ms / 1_000,
    captures: {
      total: addUp(found.map(({ counts }) => counts)),
      buckets: found.map(({ counts }, i) => ({
        from: isoTime(spans[i]?.from ?? 0),
        ...counts,
      })),
    },
    failing: [...hosts].sort((a, b) => b[1] - a[1]).map(([host]) => host),
  };
}

function forgetOld(cache: BucketCache, now: number): void {
  for (const [key, { at }] of cache) if (now - at >= SETTLED_FOR_MS) cache.delete(key);
}
