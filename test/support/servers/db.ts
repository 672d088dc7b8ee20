import { afterAll, afterEach, beforeAll, describe } from "bun:test";
import postgres from "postgres";
import { openDb } from "#hub/platform/db/db.ts";
import type { AssetRow, JobRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { silentLog } from "#shared/kit/log.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";

export type Dialect = Db["dialect"];
const DIALECTS: Dialect[] = ["sqlite", "postgres"];
const START_TIMEOUT_MS = 180_000;

/**
 * Runs a suite on SQLite in memory and on a private Postgres. `open` gives an empty, migrated database, closed after the
 * test. Call it once per file: each call has a server of its own.
 */
export function eachDialect(suite: (open: () => Promise<Db>, dialect: Dialect) => void): void {
  for (const dialect of DIALECTS)
    describe(dialect, () => {
      const opened: Db[] = [];
      let databases: DatabasePool | undefined;
      if (dialect === "postgres")
        beforeAll(async () => {
          databases = poolOf(await startPostgres());
        }, START_TIMEOUT_MS);
      afterAll(async () => {
        await databases?.stop();
      });
      afterEach(async () => {
        for (const db of opened.splice(0)) await db.close();
        databases?.giveBack();
      });
      suite(async () => {
        const url = databases ? await databases.take() : "sqlite::memory:";
        const db = await openDb(url, { log: silentLog });
        opened.push(db);
        return db;
      }, dialect);
    });
}

interface DatabasePool {
  /** An empty database that no other part of this test has. */
  take(): Promise<string>;
  /** Every database may be taken again. */
  giveBack(): void;
  stop(): Promise<void>;
}

/** Emptying a used database takes a few milliseconds, making a new one more than a hundred. */
function poolOf(server: TestPostgres): DatabasePool {
  const all: string[] = [];
  let taken = 0;
  return {
    take: async () => {
      const used = all[taken];
      const url = used ?? (await server.createDatabase());
      if (used) await empty(used);
      else all.push(url);
      taken += 1;
      return url;
    },
    giveBack: () => {
      taken = 0;
    },
    stop: () => server.stop(),
  };
}

async function empty(url: string): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => {} });
  try {
    const tables = await client<{ name: string }[]>`
      select quote_ident(tablename) as name from pg_tables
      where schemaname = 'public' and tablename <> 'schema_migrations'`;
    await client.unsafe(`truncate ${tables.map((table) => table.name).join(", ")}`);
  } finally {
    await client.end({ timeout: 1 });
  }
}

let jobs = 0;

/** A queued job as POST /jobs stores it. */
export function jobRow(fields: Partial<JobRow> = {}): JobRow {
  jobs += 1;
  return {
    job_id: `job${String(jobs).padStart(8, "0")}`,
    status: "queued",
    mode: "fetch",
    url: "https://example.com/page",
    host: "example.com",
    options: JobOptions.parse({}),
    novnc_url: null,
    worker_id: null,
    lane_idx: null,
    session_id: null,
    lease_token: null,
    hub_id: null,
    error: null,
    stage: null,
    http_status: null,
    final_url: null,
    title: null,
    created_at: 1_700_000_000_000 + jobs,
    started_at: null,
    finished_at: null,
    asset_count: 0,
    asset_bytes: 0,
    document_bytes: 0,
    attempts: 0,
    capture: null,
    final_state: null,
    answer: null,
    idempotency_key: null,
    watch_id: null,
    changed: null,
    changes: null,
    fingerprint: null,
    retried_as: null,
    labels: null,
    ...fields,
  };
}

export function assetRow(
  job_id: string,
  name: string,
  fields: Partial<AssetRow> = {},
): Omit<AssetRow, "position"> {
  return {
    job_id,
    name,
    kind: "image",
    mime: "image/png",
    ext: "png",
    size: 100,
    sha256: "0".repeat(64),
    source_url: `https://example.com/${name}`,
    page_url: "https://example.com/page",
    frame_url: null,
    status: 200,
    from_cache: false,
    from_service_worker: false,
    partial: false,
    refetched: false,
    ranges: [],
    ...fields,
  };
}

/** The claim of a lane for `job_id` under `lease_token`. */
export const claimOf = (job_id: string, lease_token = 1, worker_id = "w10") => ({
  job_id,
  worker_id,
  lane_idx: 0,
  session_id: `session-${lease_token}`,
  novnc_url: `/sessions/session-${lease_token}/novnc/`,
  lease_token,
  hub_id: "hub-1",
  now: 1_700_000_100_000,
});
