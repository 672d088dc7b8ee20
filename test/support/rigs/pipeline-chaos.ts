import { Database } from "bun:sqlite";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { freePort } from "../servers/ports.ts";
import { startPostgres, type TestPostgres } from "../servers/postgres.ts";
import { type ManagedProcess, superviseProcess, until } from "./fleet-process.ts";
import { PROGRAM } from "./program.ts";

/** A control plane and pull workers as real processes, each started again when it dies, on a database of their own. */
export interface ChaosFleet {
  dir: string;
  control: ManagedProcess;
  workers: ManagedProcess[];
  /** Null on SQLite. */
  server: TestPostgres | null;
  /** The parsed answer; null when there was none, or it was not a good one. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  call(method: string, path: string, body?: unknown): Promise<any>;
  healthy(): Promise<void>;
  /** Ends the processes and opens the database: what it holds is the judge. */
  halt(): Promise<Rows>;
  stop(): Promise<void>;
}

/** Rows of a statement that both databases understand; whole numbers are numbers. */
export type Rows = (sql: string) => Promise<Record<string, number | string | null>[]>;

export async function startChaosFleet(
  dialect: "sqlite" | "postgres",
  worker_count: number,
  slots: number,
): Promise<ChaosFleet> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-chaos-"));
  const server = dialect === "postgres" ? await startPostgres() : null;
  const file = join(dir, "control", "flotilla.db");
  const db_url = server ? await server.createDatabase() : `sqlite:${file}`;
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = (name: string, mode: string, env: Record<string, string>) => {
    const data = join(dir, name);
    mkdirSync(data, { recursive: true });
    return superviseProcess(name, [...PROGRAM, mode], {
      FLOTILLA_TEST: dir,
      SVC_DATA_DIR: data,
      SVC_LOG_LEVEL: "warn",
      ...env,
    });
  };
  const control = start("control", "control", {
    SVC_HOST: "127.0.0.1",
    SVC_PORT: String(port),
    SVC_DB_URL: db_url,
  });
  const call: ChaosFleet["call"] = async (method, path, body) => {
    try {
      const answer = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { "content-type": "application/json" },
        signal: AbortSignal.timeout(20_000),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return answer.ok ? await answer.json() : null;
    } catch {
      return null;
    }
  };
  const healthy = async () => {
    await until(
      "the control plane's health",
      30_000,
      async () => (await call("GET", "/health"))?.ok,
    );
  };
  await healthy().catch(async (err) => {
    await control.stop(1_000);
    await server?.stop();
    throw new Error(`${err.message}\n${control.tail()}`);
  });
  const workers = Array.from({ length: worker_count }, (_, i) =>
    start(`w${i}`, "worker", {
      SVC_CONTROL_URL: url,
      SVC_WORKER_ID: `w${i}`,
      SVC_SLOTS: String(slots),
    }),
  );
  let close = async () => {};
  return {
    dir,
    control,
    workers,
    server,
    call,
    healthy,
    halt: async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await control.stop();
      if (!server) {
        const db = new Database(file, { readonly: true });
        close = async () => db.close();
        return async (sql) => db.query(sql).all() as Awaited<ReturnType<Rows>>;
      }
      const bigint = { to: 20, from: [20], parse: Number, serialize: String };
      const client = postgres(db_url, { max: 1, types: { bigint } });
      close = () => client.end({ timeout: 1 });
      return async (sql) => [...(await client.unsafe(sql))] as Awaited<ReturnType<Rows>>;
    },
    stop: async () => {
      await close();
      await Promise.all([control, ...workers].map((each) => each.stop(1_000)));
      await server?.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A Python plugin whose task takes `ms`; the path of its file. */
export function writeSleeper(dir: string, ms: number): string {
  const path = join(dir, "sleeper.py");
  writeFileSync(
    path,
    `import time\n\ndef run(pk, extra, ctx):\n    time.sleep(${ms / 1_000})\n    return {"pk": pk, "epoch": ctx.epoch}\n`,
  );
  return path;
}
