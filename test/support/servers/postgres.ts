import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { openDb } from "#hub/platform/db/db.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { freePort } from "./ports.ts";

/** A private Postgres server on a free port, with its data in a temporary directory. */
export interface TestPostgres {
  /** Of the maintenance database. */
  url: string;
  /** A new database with every migration applied, or with nothing in it; its URL. */
  createDatabase(kind?: "migrated" | "empty"): Promise<string>;
  /** Ends the server at once; clients see their connections break. */
  kill(): Promise<void>;
  /** After `kill`: the same databases at the same address. */
  restart(): Promise<void>;
  /** Stops the server's processes without ending them, so that it is reachable and silent; and lets them go on. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export interface TestPostgresOptions {
  durable?: boolean;
  listen?: string;
}

const USER = "flotilla";
const PREFIX = "flotilla-pg-";
const START_DEADLINE_MS = 170_000;
const PORT_TRIES = 5;
const REMOVE = { recursive: true, force: true };

/** For tests: no commit waits for a disk. */
const FAST = ["fsync=off", "full_page_writes=off", "autovacuum=off", "shared_buffers=64MB"];
/** For benchmarks: everything a server in production does, in memory that fits a small machine. */
const DURABLE = [
  "fsync=on",
  "synchronous_commit=on",
  "full_page_writes=on",
  "autovacuum=on",
  "shared_buffers=512MB",
  "max_wal_size=4GB",
];

/**
 * Starts a server; about a second. It dies with this process (also when that is killed), but `stop` it after the suite.
 * `durable`: commits survive a power cut. `listen`: an address of a test's network (test/support/servers/lan.ts) beside the loopback.
 * @throws when Postgres is not installed: the suite is not complete without it.
 */
export async function startPostgres({
  durable = false,
  listen,
}: TestPostgresOptions = {}): Promise<TestPostgres> {
  removeLeftovers();
  const bin = findBin();
  const dir = makeDir(durable);
  const remove = () => rmSync(dir, REMOVE);
  try {
    const asUser = unprivileged(dir);
    const data = join(dir, "data");
    runOrThrow([...asUser([]), "cp", "-a", emptyCluster(bin), data]);
    if (listen) appendFileSync(join(data, "pg_hba.conf"), `host all all ${listen}/24 trust\n`);
    const settings = [
      ...(durable ? DURABLE : FAST),
      "max_connections=200",
      `unix_socket_directories=${dir}`,
      `listen_addresses=${["127.0.0.1", listen].filter(Boolean).join(",")}`,
    ];
    const commandFor = (port: number) => [
      ...asUser(["--pdeathsig", "QUIT"]),
      join(bin, "postgres"),
      ...["-D", data, "-p", String(port)],
      ...settings.flatMap((setting) => ["-c", setting]),
    ];
    const urlFor = (port: number) => `postgres://${USER}@127.0.0.1:${port}/postgres`;
    let server: Server | undefined;
    let port = 0;
    for (let tries = 1; !server; tries += 1) {
      port = freePort();
      try {
        server = await launch(commandFor(port), urlFor(port), data);
      } catch (err) {
        // Somebody else may have taken the port between finding it free and listening on it.
        if (tries === PORT_TRIES) throw err;
      }
    }
    let running = server;
    const url = urlFor(port);
    return {
      url,
      createDatabase: databaseMaker(url),
      kill: () => running.end(),
      restart: async () => {
        running = await launch(commandFor(port), url, data);
      },
      freeze: () => signalAll(running.pid, "SIGSTOP"),
      thaw: () => signalAll(running.pid, "SIGCONT"),
      stop: async () => {
        await running.end();
        remove();
      },
    };
  } catch (err) {
    remove();
    throw err;
  }
}

const SHARED_MEMORY = "/dev/shm";
const ROOM_BYTES = 2 * 2 ** 30;

/** A database is 300 files, which memory makes in 70 ms and a disk in 450. */
function dirFor(durable: boolean): string {
  if (durable || !existsSync(SHARED_MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(SHARED_MEMORY);
  return bavail * bsize < ROOM_BYTES ? tmpdir() : SHARED_MEMORY;
}
const makeDir = (durable: boolean): string =>
  mkdtempSync(join(dirFor(durable), `${PREFIX}${process.pid}-`));

/**
 * Bun gives every test file modules of its own, so what the process keeps lies outside of them. Its test runner emits no
 * `exit`: test/setup.ts calls `flotillaAtEnd`.
 */
const kept = globalThis as { flotillaEmptyCluster?: string; flotillaAtEnd?: () => void };

/** The data of a server that was never started, made once for the process: a copy takes a tenth of the time. */
function emptyCluster(bin: string): string {
  if (kept.flotillaEmptyCluster) return kept.flotillaEmptyCluster;
  const dir = makeDir(false);
  kept.flotillaAtEnd = () => rmSync(dir, REMOVE);
  process.once("exit", kept.flotillaAtEnd);
  const data = join(dir, "data");
  const options = ["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  runOrThrow([...unprivileged(dir)([]), join(bin, "initdb"), "-D", data, ...options]);
  kept.flotillaEmptyCluster = data;
  return data;
}

interface Server {
  pid: number;
  end(): Promise<void>;
}

/** Starts the server and waits until it answers. */
async function launch(
  [command = "", ...args]: string[],
  url: string,
  data: string,
): Promise<Server> {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4_000);
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const end = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGQUIT");
    await exited;
  };
  try {
    await answers(url, data, () => child.exitCode !== null);
  } catch (err) {
    await end();
    throw new Error(`Postgres did not start: ${String(err)}\n${output}`);
  }
  return { pid: child.pid ?? 0, end };
}

/** Every connection has a process of its own, a child of the server. */
function signalAll(pid: number, signal: NodeJS.Signals): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  for (const each of [pid, ...children.split(" ").filter(Boolean).map(Number)])
    try {
      process.kill(each, signal);
    } catch {
      // A connection that ended meanwhile.
    }
}

function findBin(): string {
  const versions = "/usr/lib/postgresql";
  const installed = existsSync(versions)
    ? readdirSync(versions)
        .sort((a, b) => Number(b) - Number(a))
        .map((v) => join(versions, v, "bin"))
    : [];
  const inPath = (process.env.PATH ?? "").split(":");
  const bin = [...installed, ...inPath].find(
    (dir) => existsSync(join(dir, "initdb")) && existsSync(join(dir, "postgres")),
  );
  if (!bin)
    throw new Error(
      "Postgres is not installed, and this suite needs it: apt-get install postgresql",
    );
  return bin;
}

/** Postgres refuses to run as root: gives the directory to another user and the command that becomes it. */
function unprivileged(dir: string): (options: string[]) => string[] {
  const setpriv = Bun.which("setpriv");
  if (process.getuid?.() !== 0)
    return (options) => (setpriv && options.length > 0 ? [setpriv, ...options] : []);
  if (!setpriv) throw new Error("as root this suite needs setpriv: apt-get install util-linux");
  const ids = ["postgres", "nobody"].map(idsOf).find((found) => found !== null);
  if (!ids) throw new Error("neither the user postgres nor nobody exists");
  chownSync(dir, ids.uid, ids.gid);
  chmodSync(dir, 0o700);
  return (options) => [
    setpriv,
    `--reuid=${ids.uid}`,
    `--regid=${ids.gid}`,
    "--clear-groups",
    ...options,
  ];
}

function idsOf(user: string): { uid: number; gid: number } | null {
  const [uid, gid] = ["-u", "-g"].map((flag) => {
    const { status, stdout } = spawnSync("id", [flag, user], { encoding: "utf8" });
    return status === 0 ? Number(stdout.trim()) : null;
  });
  return typeof uid === "number" && typeof gid === "number" ? { uid, gid } : null;
}

function runOrThrow([command = "", ...args]: string[]): void {
  const done = spawnSync(command, args, { encoding: "utf8", cwd: "/", timeout: START_DEADLINE_MS });
  if (done.status !== 0) throw new Error(`${command} failed: ${done.stderr || String(done.error)}`);
}

/** Waits for the server with this data directory: the port may be that of another one. */
async function answers(url: string, data: string, hasExited: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + START_DEADLINE_MS;
  for (;;) {
    const client = postgres(url, { max: 1, connect_timeout: 60, onnotice: () => {} });
    try {
      const [row] = await client`select current_setting('data_directory') as data`;
      if (row?.data !== data) throw new Error("another server has the port");
      return;
    } catch (err) {
      if (hasExited() || performance.now() > giveUpAt) throw err;
      await systemClock.sleep(20);
    } finally {
      await client.end({ timeout: 1 });
    }
  }
}

/** Copies of one migrated template: a copy takes some 30 ms, migrating anew several times that. */
function databaseMaker(url: string): TestPostgres["createDatabase"] {
  const urlOf = (name: string) => url.replace(/\/postgres$/, `/${name}`);
  const run = async (sql: string) => {
    const client = postgres(url, { max: 1, onnotice: () => {} });
    try {
      await client.unsafe(sql);
    } finally {
      await client.end({ timeout: 1 });
    }
  };
  let template: Promise<void> | undefined;
  let copying: Promise<unknown> = Promise.resolve();
  let count = 0;
  const makeTemplate = async () => {
    await run("create database migrated");
    const db = await openDb(urlOf("migrated"), { log: silentLog });
    await db.close();
  };
  return async (kind = "migrated") => {
    count += 1;
    const name = `test_${count}`;
    if (kind === "empty") await run(`create database ${name}`);
    else {
      template ??= makeTemplate();
      await template;
      // A template can be copied by one session at a time.
      const copy = copying
        .catch(() => {})
        .then(() => run(`create database ${name} template migrated`));
      copying = copy;
      await copy;
    }
    return urlOf(name);
  };
}

/** Data of test processes that were killed; their servers died with them. */
function removeLeftovers(): void {
  for (const parent of new Set([tmpdir(), dirFor(false)]))
    for (const name of readdirSync(parent)) {
      const pid = Number(name.slice(PREFIX.length).split("-")[0]);
      if (!name.startsWith(PREFIX) || existsSync(`/proc/${pid}`)) continue;
      try {
        rmSync(join(parent, name), REMOVE);
      } catch {
        // Another user's, or another process is removing it now.
      }
    }
}
