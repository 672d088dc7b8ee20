import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import type { NewAuditRow } from "../../db/rows.ts";
import type { Db } from "../../db/types.ts";

/** A call as it is recorded, without what the log itself adds. */
type AuditedCall = Omit<NewAuditRow, "at" | "hub" | "times">;

export interface AuditLog {
  /** Takes a call in at once; it is stored within about a second. `refused`: nobody was let in, so that it may be one of very many. */
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
  /** Of the moment: days after which rows are deleted; 0 for never. */
  days: () => number;
}

const STORE_EVERY_MS = 1_000;
/** How many calls wait while the database cannot store them: about 5 MB. */
const MAX_WAITING = 10_000;
/** Calls that are refused again and again for the same reason are two rows a minute, however many they are. */
const REPEAT_MS = 60_000;
const MAX_REPEATED = 1_000;
const LAST_TRY_MS = 2_000;
const PRUNE_EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
/** Rows of one delete: a few milliseconds of SQLite's only writer. */
const CHUNK = 1_000;
const CHUNKS_PER_PASS = 50;

interface Repeated {
  began_at: number;
  /** The last of those that are not rows yet, with their number. */
  last: NewAuditRow | null;
}

const keyOf = ({ address, caller_kind, caller_name, method, route, status }: AuditedCall) =>
  [address, caller_kind, caller_name, method, route, status].join(" ");

/** Who did what, stored in batches in the background: no call waits for it. */
export function createAuditLog({ db, clock, log, hub, days }: AuditLogDeps): AuditLog {
  let waiting: NewAuditRow[] = [];
  const repeated = new Map<string, Repeated>();
  let dropped = 0;
  let failing = false;
  let stopped = false;

  const put = (row: NewAuditRow) => {
    if (waiting.length < MAX_WAITING) return void waiting.push(row);
    dropped += row.times;
    // Once each time it begins: a line for every call would fill the log as well.
    if (!failing) log.warn({ waiting: MAX_WAITING }, "calls are not recorded: too many wait");
    failing = true;
  };
  /** Makes rows of the repeated calls that `isOver` says are not counted on. */
  const settle = (isOver: (one: Repeated) => boolean) => {
    for (const [key, one] of repeated) {
      if (!isOver(one)) continue;
      repeated.delete(key);
      if (one.last) put(one.last);
    }
  };
  const repeat = (key: string, row: NewAuditRow) => {
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
  };
  const storeOnce = async () => {
    settle(({ began_at }) => clock.monotonic() - began_at >= REPEAT_MS);
    if (waiting.length === 0) return;
    const batch = waiting;
    waiting = [];
    try {
      await db.audit.append(batch);
      if (failing) log.info({ dropped }, "calls are recorded again");
      failing = false;
    } catch (err) {
      if (!failing) log.warn({ err: errorMessage(err) }, "calls are not recorded for now");
      failing = true;
      // The oldest stay: they tell how it began.
      const all = [...batch, ...waiting];
      waiting = all.slice(0, MAX_WAITING);
      for (const { times } of all.slice(MAX_WAITING)) dropped += times;
    }
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
    const finished = new AbortController();
    const last = async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
      settle(() => true);
      await storeOnce();
    };
    await Promise.race([last(), clock.sleep(LAST_TRY_MS, finished.signal)]);
    finished.abort();
    if (waiting.length > 0) log.warn({ calls: waiting.length }, "calls were not recorded");
  };
  let ended: Promise<void> | undefined;
  return {
    get dropped() {
      return dropped;
    },
    record: (call, refused) => {
      if (stopped) return;
      const row = { ...call, at: clock.now(), hub, times: 1 };
      if (refused) repeat(keyOf(call), row);
      else put(row);
    },
    stop: () => {
      ended ??= end();
      return ended;
    },
  };
}
