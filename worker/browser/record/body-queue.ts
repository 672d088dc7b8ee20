import type { Clock } from "#shared/kit/clock.ts";
import type { Activity } from "./activity.ts";
import { watchArrivals } from "./arrived.ts";
import { type BodyReaderDeps, createBodyReader } from "./bodies.ts";
import { sourceOf } from "./body-source.ts";
import type { LossReason } from "./ledger.ts";
import { createOpenBodyReader } from "./open-bodies.ts";
import { createReadQueue } from "./read-queue.ts";
import type { RequestTable } from "./request-table.ts";
import { carriesBody, declaredLength, progressOf, type RequestEntry } from "./requests.ts";
import { isEndless } from "./streams.ts";
import type { Tracked } from "./targets.ts";
import type { Wanted } from "./wanted.ts";

export interface BodyQueueDeps extends Omit<BodyReaderDeps, "isClosed"> {
  table: RequestTable;
  activity: Activity;
  wanted: Wanted;
  clock: Clock;
  /** Whether the browser keeps bodies in its durable buffer. */
  durable: boolean;
  /** Whether this target is the only page that is open. */
  isOnlyPage(target: Tracked): boolean;
  /** All bytes of this request have arrived, although no end was reported. */
  onWhole(entry: RequestEntry): void;
  onError(err: unknown): void;
}

/** Which bodies are still to be read, and when: at their end, before they are gone, or when the job ends. */
export interface BodyQueue {
  /** A body has ended. `by`: the target that reported it. */
  ended(entry: RequestEntry, by: Tracked): void;
  /** A body broke off. `reason` null: if there is nothing, nothing is missing. */
  brokeOff(entry: RequestEntry, by: Tracked, reason: LossReason | null): void;
  /** The document or worker of a body is gone. */
  orphaned(entry: RequestEntry): void;
  /** Bytes of a body were reported. */
  heard(entry: RequestEntry): void;
  /** A page is about to leave: what it has loaded is read now. */
  release(): void;
  /** Reads that are under way or waiting. */
  pending(): number;
  /**
   * Reads what is there. Open requests are cut when `others` and all other reads are over, since they may end meanwhile.
   */
  drained(others: Promise<void>): Promise<void>;
  /** What was not read by now is lost. */
  close(): void;
}

export function createBodyQueue(deps: BodyQueueDeps): BodyQueue {
  const { table, activity, clock, durable, wanted } = deps;
  const reads = createReadQueue(clock, deps.onError);
  const orphans = new Set<RequestEntry>();
  /** Requests that have finished but were not read yet. */
  const unread = new Set<RequestEntry>();
  let closed = false;
  const isOpen = (entry: RequestEntry) => table.get(entry.id) === entry;
  const isClosed = () => closed;
  const reader = createBodyReader({ stores: deps.stores, kept: deps.kept, isClosed });
  const open_reader = createOpenBodyReader({
    stores: deps.stores,
    isClosed,
    take: (entry) => table.take(entry.id) === entry,
    onWhole: (entry) => {
      activity.settle(entry.id);
      deps.onWhole(entry);
    },
  });
  const enqueue = (entry: RequestEntry, size: number, run: () => Promise<void>) => {
    unread.add(entry);
    const work = async () => {
      if (!closed) await run();
      unread.delete(entry);
    };
    // A frame, worker or popup may be gone in a moment, and its bodies with it; the only page stays until it leaves.
    const may_wait = durable && entry.type !== "Document" && deps.isOnlyPage(entry.target);
    reads.add(size, work, may_wait);
  };
  /** All bytes of a body seem to be there, and its page does not read them. */
  const onArrived = (entry: RequestEntry) => {
    if (entry.handled || isEndless(entry) || !entry.response) return;
    const declared = declaredLength(entry.headers);
    const is_whole = declared !== null && entry.received >= declared;
    if (is_whole && (!wanted.has(entry) || entry.refused)) return activity.settle(entry.id);
    // Only the durable buffer tells whole bodies from unfinished ones; it has none that a service worker created.
    const is_durable = durable && !entry.response.fromServiceWorker;
    if (!wanted.has(entry) || entry.refused || !carriesBody(entry)) return;
    if (is_whole || is_durable)
      reads.add(entry.received, async () => {
        if (isOpen(entry)) await open_reader.readArrived(entry);
      });
  };
  const cutOpen = () => {
    for (const entry of table.open()) {
      if (!wanted.has(entry) || !carriesBody(entry) || entry.refused) continue;
      if (durable && isUntold(entry)) reads.add(0, () => open_reader.readOrphan(entry));
      if (!entry.response || entry.received === 0) continue;
      table.take(entry.id);
      enqueue(entry, entry.received, () => open_reader.readCut(entry));
    }
  };
  return {
    ended: (entry, by) => {
      const size = Math.max(entry.received, declaredLength(entry.headers) ?? 0);
      enqueue(entry, size, () => reader.read(entry, by));
    },
    brokeOff: (entry, by, reason) =>
      enqueue(entry, entry.received, () => reader.readPrefix(entry, by, reason)),
    orphaned: (entry) => {
      orphans.add(entry);
      reads.add(declaredLength(entry.headers) ?? 0, () => open_reader.readOrphan(entry));
    },
    heard: watchArrivals(clock, isOpen, onArrived).heard,
    release: reads.release,
    pending: () => reads.pending,
    drained: async (others) => {
      // An orphan's bytes may still have been on their way when it was first read.
      for (const entry of orphans)
        if (isOpen(entry)) reads.add(0, () => open_reader.readOrphan(entry));
      await Promise.all([reads.drained(), others]);
      cutOpen();
      await reads.drained();
    },
    close: () => {
      closed = true;
      for (const entry of unread) deps.stores.ledger.lost(sourceOf(entry), "timeout");
    },
  };
}

/** The network process may have it whole while its page is too busy to take it, and answers for it. */
const isUntold = (entry: RequestEntry): boolean =>
  progressOf(entry) === "answered" && entry.received === 0 && !entry.untouched;
