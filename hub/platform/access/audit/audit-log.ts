import { type Clock, endsWithin } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import type { NewAuditRow } from "../../db/rows.ts";
import type { Db } from "../../db/storage.ts";
import { entryOf } from "./audit-entry.ts";

/** A call to record, without the fields that the log adds. */
type AuditedCall = Omit<NewAuditRow, "at" | "hub" | "times">;

export interface AuditLog {
  /**
   * Accepts a call without waiting; it is stored within about a second. `refused`: the call was not let in, so it may
   * be one of very many.
   */
  record(call: AuditedCall, refused: boolean): void;
  /** Calls that could not be stored since the start. */
  readonly dropped: number;
  /** Stores what is left. Idempotent. */
  stop(): Promise<void>;
}

export interface AuditLogDeps {
  db: { readonly audit: Pick<Db["audit"], "append" | "deleteBefore"> };
  clock: Clock;
  log: Log;
  /** Names this process in its rows. */
  hub: string;
  /** The current number of days after which rows are deleted; 0 for never. */
  days: () => number;
  /** Whether each row is to be a line of the log too, whether or not the database stores it. */
  logs: () => boolean;
}

const STORE_EVERY_MS = 1_000;
/** How many calls may wait while the database cannot store them: about 5 MB. */
const MAX_WAITING = 10_000;
/** Calls that are refused repeatedly for the same reason make two rows a minute, however many they are. */
const REPEAT_MS = 60_000;
const MAX_REPEATED = 1_000;
const LAST_TRY_MS = 2_000;
const PRUNE_EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
/** Rows per delete: a few milliseconds of SQLite's only writer. */
const CHUNK = 1_000;
const CHUNKS_PER_PASS = 50;

interface Repeated {
  began_at: number;
  /** The last call that is not a row yet, with the number of its kind. */
  last: NewAuditRow | null;
}

const keyOf = ({ address, caller_kind, caller_name, method, route, status }: AuditedCall) =>
  [address, caller_kind, caller_name, method, route, status].join(" ");

/** Calls that are refused repeatedly: the first becomes a row at once, and the following ones are counted. */
function createRepeats(clock: Clock, put: (row: NewAuditRow) => void) {
  const repeated = new Map<string, Repeated>();
  /** Makes rows of the repeated calls whose counting is over according to `isOver`. */
  const settle = (isOver: (one: Repeated) => boolean) => {
    for (const [key, one] of repeated) {
      if (!isOver(one)) continue;
      repeated.delete(key);
      if (one.last) put(one.last);
    }
  };
  return {
    settleAll: () => settle(() => true),
    settleOld: () => settle(({ began_at }) => clock.monotonic() - began_at >= REPEAT_MS),
    add: (key: string, row: NewAuditRow) => {
      const known = repeated.get(key);
      if (known) {
        known.last = { ...row, times: (known.last?.times ?? 0) + 1 };
        return;
      }
      if (repeated.size >= MAX_REPEATED) {
        const [oldest] = repeated.values();
        settle((one) => one === oldest);
      }
      repeated.set(key, { began_at: clock.monotonic(), last: null });
      put(row);
    },
  };
}

/** Rows that wait to be stored. */
function createWaiting({ db, log }: Pick<AuditLogDeps, "db" | "log">) {
  let waiting: NewAuditRow[] = [];
  let dropped = 0;
  let failing = false;
  return {
    get size() {
      return waiting.length;
    },
    get dropped() {
      return dropped;
    },
    put: (row: NewAuditRow) => {
      if (waiting.length < MAX_WAITING) return void waiting.push(row);
      dropped += row.times;
      // Once per outage: a line for every call would fill the log.
      if (!failing) log.warn({ waiting: MAX_WAITING }, "not recording calls: too many are waiting");
      failing = true;
    },
    store: async () => {
      if (waiting.length === 0) return;
      const batch = waiting;
      waiting = [];
      try {
        await db.audit.append(batch);
        if (failing) log.info({ dropped }, "recording calls again");
        failing = false;
      } catch (err) {
        if (!failing) log.warn({ err: errorMessage(err) }, "cannot record calls for now");
        failing = true;
        // The oldest stay, because they show how it began.
        const all = [...batch, ...waiting];
        waiting = all.slice(0, MAX_WAITING);
        for (const { times } of all.slice(MAX_WAITING)) dropped += times;
      }
    },
  };
}

/** Who did what, stored in batches in the background: no call waits for it. */
export function createAuditLog(deps: AuditLogDeps): AuditLog {
  const { db, clock, log, hub, days, logs } = deps;
  const rows = createWaiting(deps);
  const put = (row: NewAuditRow) => {
    if (logs()) log.info(entryOf(row), "audit entry");
    rows.put(row);
  };
  const repeats = createRepeats(clock, put);
  let stopped = false;

  const storeOnce = async () => {
    repeats.settleOld();
    await rows.store();
  };
  const pruneOnce = async (signal: AbortSignal) => {
    if (days() === 0) return;
    const oldest = clock.now() - days() * DAY_MS;
    for (let i = 0; i < CHUNKS_PER_PASS && !signal.aborted; i += 1)
      if ((await db.audit.deleteBefore(oldest, CHUNK)) < CHUNK) return;
  };
  const loops = [
    startLoop({ name: "audit", everyMs: STORE_EVERY_MS, clock, log, pass: storeOnce }),
    startLoop({ name: "old audit", everyMs: PRUNE_EVERY_MS, clock, log, pass: pruneOnce }),
  ];
  const end = async () => {
    stopped = true;
    const last = async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
      repeats.settleAll();
      await rows.store();
    };
    await endsWithin(clock, LAST_TRY_MS, last());
    if (rows.size > 0) log.warn({ calls: rows.size }, "could not record calls");
  };
  let ended: Promise<void> | undefined;
  return {
    get dropped() {
      return rows.dropped;
    },
    record: (call, refused) => {
      if (stopped) return;
      const row = { ...call, at: clock.now(), hub, times: 1 };
      if (refused) repeats.add(keyOf(call), row);
      else put(row);
    },
    stop: () => {
      ended ??= end();
      return ended;
    },
  };
}
