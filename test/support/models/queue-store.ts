import { afterAll, afterEach, beforeAll, describe } from "bun:test";
import type { Sql } from "postgres";
import type { Conn } from "#hub/platform/db/conn.ts";
import { openPostgres, openQueueClient } from "#hub/platform/db/postgres.ts";
import { openPostgresQueue } from "#hub/platform/db/queue/postgres.ts";
import type {
  FreedPlaces,
  NewTask,
  OpResults,
  QueueOp,
  QueueStore,
  ResultOf,
} from "#hub/platform/db/queue/queue-store.ts";
import { openSqlite } from "#hub/platform/db/sqlite.ts";
import { silentLog } from "#shared/kit/log.ts";
import { Backoff } from "#shared/protocol/schema/workload.ts";
import { startPostgres, type TestPostgres } from "../servers/postgres.ts";

export const START = 1_700_000_000_000;
/** Fails wait one second, without jitter. */
export const BACKOFF = Backoff.parse({ kind: "fixed", base_s: 1, jitter: 0 });

/** A queue on an empty database whose clock stands still until it is moved. */
export interface QueueRig {
  conn: Conn;
  /** Of the database; ":memory:" on SQLite. */
  url: string;
  store: QueueStore;
  now: number;
  /** What `onFreed` was told, oldest first. */
  freed: FreedPlaces[];
  /** Moves the clock of the database. */
  advance(ms: number): Promise<void>;
  addWorkload(slug: string, backoff?: Backoff): Promise<number>;
  /** One call, alone in its transaction. */
  call<O extends QueueOp>(op: O): Promise<ResultOf<O>>;
  close(): Promise<void>;
}

export const task = (pk: string, fields: Partial<NewTask> = {}): NewTask => ({
  pk,
  extra: null,
  priority: 0,
  max_attempts: 3,
  run_at: null,
  ...fields,
});

async function rigOf(
  url: string,
  conn: Conn,
  store: QueueStore,
  moveClock: (now: number) => Promise<void>,
  freed: FreedPlaces[],
  close: () => Promise<void>,
): Promise<QueueRig> {
  const rig: QueueRig = {
    freed,
    url,
    conn,
    store,
    now: START,
    advance: async (ms) => {
      rig.now += ms;
      await moveClock(rig.now);
    },
    addWorkload: async (slug, backoff = BACKOFF) => {
      const { workloads } = conn.t;
      const [row] = await conn.q
        .insert(workloads)
        .values({
          slug,
          name: slug,
          description: "",
          enabled: true,
          supervisor_enabled: false,
          executor_type: "command",
          executor_config: { argv: ["true"] },
          priority: 0,
          batch_size: 1,
          lease_secs: 60,
          max_attempts: 3,
          timeout_s: null,
          host_affinity: [],
          backoff,
          rate_limit: null,
          max_in_flight: null,
          emits: [],
          schedule: null,
          schedule_tz: "UTC",
          created_at: START,
          updated_at: START,
        })
        .returning();
      return Number(row?.workload_id);
    },
    call: async <O extends QueueOp>(op: O) => {
      const results: OpResults[QueueOp["op"]][] = await store.flush([op]);
      return results[0] as ResultOf<O>;
    },
    close: async () => {
      await close();
      await conn.close();
    },
  };
  await moveClock(START);
  return rig;
}

async function openOnSqlite(): Promise<QueueRig> {
  const conn = await openSqlite(":memory:", { log: silentLog, lock_wait_ms: 0 });
  let now = START;
  const freed: FreedPlaces[] = [];
  const onFreed = (one: FreedPlaces) => void freed.push(one);
  const store = conn.openQueue({ node: "n", now: () => now, random: () => 0.5, onFreed });
  const move = async (to: number) => {
    now = to;
  };
  return rigOf(":memory:", conn, store, move, freed, () => store.close());
}

async function openOnPostgres(url: string): Promise<QueueRig> {
  const conn = await openPostgres(url, { log: silentLog });
  const client: Sql = openQueueClient(url, 1);
  const freed: FreedPlaces[] = [];
  const store = openPostgresQueue({
    client: { use: (work) => work(client) },
    node: "n",
    random: () => 0.5,
    onFreed: (one) => void freed.push(one),
  });
  const move = async (to: number) => {
    await client.unsafe("select set_config('flotilla.now_ms', $1, false)", [String(to)]);
  };
  return rigOf(url, conn, store, move, freed, () => client.end({ timeout: 1 }));
}

const TABLES =
  "workloads, tasks, task_labels, once_keys, runs, run_logs, workload_stats, rate_minutes, rate_claims restart identity";

export type OpenQueue = (options?: { own_database?: boolean }) => Promise<QueueRig>;

/**
 * Runs a suite on SQLite and on a private Postgres. `open` gives an empty queue, closed after the test; two at a time each
 * need a database of their own.
 */
export function eachQueue(suite: (open: OpenQueue, dialect: "sqlite" | "postgres") => void): void {
  for (const dialect of ["sqlite", "postgres"] as const)
    describe(dialect, () => {
      const opened: QueueRig[] = [];
      let server: TestPostgres | undefined;
      let url = "";
      if (dialect === "postgres")
        beforeAll(async () => {
          server = await startPostgres();
          url = await server.createDatabase();
        }, 180_000);
      afterAll(async () => {
        await server?.stop();
      });
      afterEach(async () => {
        for (const rig of opened.splice(0)) await rig.close();
      });
      suite(async ({ own_database = false } = {}) => {
        if (dialect === "postgres" && own_database) url = (await server?.createDatabase()) ?? "";
        else if (dialect === "postgres") {
          const client = openQueueClient(url, 1);
          await client.unsafe(`truncate ${TABLES}`);
          await client.end({ timeout: 1 });
        }
        const rig = await (dialect === "sqlite" ? openOnSqlite() : openOnPostgres(url));
        opened.push(rig);
        return rig;
      }, dialect);
    });
}
