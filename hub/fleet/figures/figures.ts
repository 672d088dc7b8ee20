import { isoTime, isoTimeOrNull } from "#shared/kit/clock.ts";
import type { FigureRange, Figures } from "#shared/protocol/schema/figures.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerListContext } from "../links/link-contexts.ts";
import { ableWorkers, freeLanesOf, usableLanesOf } from "../links/shortage.ts";
import { listWorkers } from "../links/view.ts";
import { readStuck } from "../retention/stuck.ts";
import { type BucketCache, readCaptures } from "./captures.ts";
import { readHosts } from "./hosts.ts";
import { findProblems, waitingOf } from "./problems.ts";
import { readStorage } from "./storage.ts";

/** What the figures are read from. */
type FiguresContext = WorkerListContext &
  Pick<FleetContext, "config" | "disk_room" | "settings_cache" | "stores_health">;

/** The first page of the app in one call (rules/figures#figures-of-the-fleet). */

/** How long an answer is used again, because many pages may be open; what took long is read so much more rarely. */
const FRESH = { ms: 3_000, rest: 5 };
const HOSTS_FRESH = { ms: 15_000, rest: 20 };
const STORAGE_FRESH = { ms: 60_000, rest: 200 };

interface Kept {
  until: number;
  value: Promise<unknown>;
}

/** What a hub keeps for its next answer. */
interface Memory {
  readonly buckets: BucketCache;
  readonly kept: Map<string, Kept>;
}

const memories = new WeakMap<object, Memory>();

function memoryOf(ctx: object): Memory {
  const known = memories.get(ctx);
  if (known !== undefined) return known;
  const made: Memory = { buckets: new Map(), kept: new Map() };
  memories.set(ctx, made);
  return made;
}

/** Callers at the same time share one read; a failure is not kept. */
function atMost<T>(
  ctx: Pick<FleetContext, "clock">,
  key: string,
  fresh: { ms: number; rest: number },
  read: () => Promise<T>,
): Promise<T> {
  const { kept } = memoryOf(ctx);
  const began = ctx.clock.monotonic();
  const there = kept.get(key);
  if (there !== undefined && began < there.until) return there.value as Promise<T>;
  const value = read();
  const entry: Kept = { until: Number.POSITIVE_INFINITY, value };
  kept.set(key, entry);
  value.then(
    () => {
      const now = ctx.clock.monotonic();
      entry.until = now + Math.max(fresh.ms, (now - began) * fresh.rest);
    },
    () => kept.get(key) === entry && kept.delete(key),
  );
  return value;
}

function lanesOf(workers: readonly Worker[]): Figures["lanes"] {
  const able = ableWorkers(workers);
  const sum = (of: (worker: Worker) => number) => able.reduce((n, worker) => n + of(worker), 0);
  const connected = workers.filter(({ alive }) => alive);
  return {
    total: sum(usableLanesOf),
    // Those of a worker that is draining still run.
    busy: connected.reduce((n, { in_flight }) => n + in_flight, 0),
    free: sum(freeLanesOf),
    workers: connected.length,
  };
}

async function readFigures(ctx: FiguresContext, range: FigureRange): Promise<Figures> {
  const { db, clock, disk_room, stores_health } = ctx;
  const { buckets } = memoryOf(ctx);
  const time = { now: clock.now(), monotonic: clock.monotonic() };
  const [captures, workers, queue, stores, storage, begun, engines, stuck] = await Promise.all([
    readCaptures(db, buckets, range, time),
    listWorkers(ctx),
    db.figures.queue(),
    stores_health.degraded(),
    atMost(ctx, "storage", STORAGE_FRESH, () => readStorage(ctx)),
    db.figures.begun(),
    db.engines.list(),
    readStuck(ctx),
  ]);
  const hosts = await atMost(ctx, `hosts ${range}`, HOSTS_FRESH, () =>
    readHosts(db, captures.from, captures.failing),
  );
  const waits = {
    queued: queue.queued,
    oldest_at: isoTimeOrNull(queue.oldest),
    waiting_for: waitingOf(queue.queued, workers),
  };
  return {
    range,
    at: isoTime(time.now),
    from: isoTime(captures.from),
    bucket_s: captures.bucket_s,
    captures: captures.captures,
    hosts: { failing: hosts.failing, slow: hosts.slow },
    lanes: lanesOf(workers),
    queue: waits,
    storage,
    problems: findProblems({
      now: time.now,
      workers,
      queue: waits,
      storage,
      disk_shortage: disk_room.shortage,
      stores,
      stuck,
      hosts: hosts.problems,
    }),
    begun: { ...begun, engine: engines.length > 0 },
  };
}

/** GET /figures: at most a few seconds old. */
export const getFigures = (ctx: FiguresContext, range: FigureRange): Promise<Figures> =>
  atMost(ctx, `figures ${range}`, FRESH, () => readFigures(ctx, range));
