import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { superviseProcess, until } from "#test/support/rigs/fleet-process.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

const MAIN = join(import.meta.dir, "../../../hub/main.ts");
const PROFILE = process.env.BENCH_CPU_PROF;

export const DIALECTS = ["sqlite", "postgres"] as const;
export type Dialect = (typeof DIALECTS)[number];
export const SHOWN: Record<Dialect, string> = { sqlite: "SQLite", postgres: "Postgres" };

export interface ControlProcess {
  url: string;
  pid: number;
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

/** The control plane as a process of its own on an empty database; BENCH_CPU_PROF names a directory for its CPU profile. */
export async function startControl(db_url: string | null): Promise<ControlProcess> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-bench-control-"));
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const profile = PROFILE ? ["--cpu-prof", "--cpu-prof-md", `--cpu-prof-dir=${PROFILE}`] : [];
  const control = superviseProcess("control", [process.execPath, ...profile, MAIN, "control"], {
    SVC_HOST: "127.0.0.1",
    SVC_PORT: String(port),
    SVC_DATA_DIR: dir,
    SVC_LOG_LEVEL: "warn",
    ...(db_url === null ? {} : { SVC_DB_URL: db_url }),
  });
  await until(
    "the control plane's health",
    20_000,
    async () => (await fetch(`${url}/api/v1/health`).catch(() => null))?.ok,
  ).catch((err) => {
    throw new Error(`${err.message}\n${control.tail()}`);
  });
  return {
    url,
    pid: control.pid,
    call: async (method, path, body) => {
      const answer = await fetch(`${url}/api/v1${path}`, {
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return text === "" ? null : JSON.parse(text);
    },
    stop: async () => {
      await control.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Databases for the runs of one benchmark; the Postgres server is the same for us and the peers. */
export interface Stores {
  /** An empty database's URL; null is SQLite in the control plane's own directory. */
  fresh(dialect: Dialect): Promise<string | null>;
  /** An empty Postgres database, without our tables. */
  empty(): Promise<string>;
  stop(): Promise<void>;
}

export async function openStores(): Promise<Stores> {
  let server: Promise<TestPostgres> | null = null;
  const postgres = () => {
    server ??= startPostgres({ durable: true });
    return server;
  };
  return {
    fresh: async (dialect) =>
      dialect === "sqlite" ? null : (await postgres()).createDatabase("migrated"),
    empty: async () => (await postgres()).createDatabase("empty"),
    stop: async () => (await server)?.stop(),
  };
}
