import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./ports.ts";

/**
 * A private S3 server in a process of its own, on a free loopback port, with its data in a temporary directory: the
 * package s3rver (its HTTP, XML and check of SigV4 signatures, of headers and of presigned URLs) over a store of ours
 * that keeps what S3 promises (s3-store.ts), because s3rver's own writes half objects when it is killed, checks no hash
 * and cannot end an upload in parts.
 */
export interface TestS3 {
  /** Of its data; names the process too. */
  dir: string;
  endpoint: string;
  bucket: string;
  /** SVC_OBJECTS_URL with the keys: everything a hub needs. `prefix` keeps the objects of several hubs apart. */
  env(prefix?: string): Record<string, string>;
  /** Bytes of bodies taken since the start, keys of objects and of open uploads in parts, no body without an owner. */
  state(): Promise<{ received: number; keys: string[]; uploads: string[]; tidy: boolean }>;
  /** What the bucket says of its versions from now on. */
  setVersioning(
    is: "Enabled" | "Suspended" | "never" | "denied" | "not implemented" | "not known",
  ): Promise<void>;
  /** Ends the server at once; clients see their connections break. */
  kill(): Promise<void>;
  /** After `kill`: the same objects at the same address. */
  restart(): Promise<void>;
  /** Stops the server's process without ending it, so that it is reachable and silent; and lets it go on. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

const BUCKET = "flotilla";
const KEY_ID = "TESTKEYID";
const SECRET = "test/secret+key";
const START_DEADLINE_MS = 60_000;

/** Starts a server; about half a second. It dies with this process, also when that is killed. */
export async function startS3(): Promise<TestS3> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-s3-"));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  const port = freePort();
  let child = spawnServer(dir, port);
  await portOf(child).catch((err) => {
    remove();
    throw err;
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const kill = async () => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return {
    dir,
    endpoint,
    bucket: BUCKET,
    env: (prefix = "") => ({
      SVC_OBJECTS_URL: `s3://${BUCKET}${prefix && `/${prefix}`}?endpoint=${endpoint}&region=us-east-1`,
      S3_ACCESS_KEY_ID: KEY_ID,
      S3_SECRET_ACCESS_KEY: SECRET,
    }),
    state: async () =>
      (await (await fetch(`${endpoint}/.state`)).json()) as Awaited<ReturnType<TestS3["state"]>>,
    setVersioning: async (is) => {
      await fetch(`${endpoint}/.versioning?is=${encodeURIComponent(is)}`);
    },
    kill,
    restart: async () => {
      child = spawnServer(dir, port);
      await portOf(child);
    },
    freeze: () => child.kill("SIGSTOP"),
    thaw: () => child.kill("SIGCONT"),
    stop: async () => {
      await kill();
      remove();
    },
  };
}

const spawnServer = (dir: string, port: number) =>
  Bun.spawn(
    [
      ...["setpriv", "--pdeathsig", "KILL", process.execPath],
      join(import.meta.dir, "s3-server.ts"),
      ...[dir, BUCKET, String(port), KEY_ID, SECRET],
    ],
    { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  );

/** The port, once the server listens. */
async function portOf(child: ReturnType<typeof spawnServer>): Promise<number> {
  const late = setTimeout(() => child.kill("SIGKILL"), START_DEADLINE_MS);
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  clearTimeout(late);
  reader.releaseLock();
  const port = Number(new TextDecoder().decode(value));
  if (Number.isInteger(port) && port > 0) return port;
  child.kill("SIGKILL");
  throw new Error(`the S3 server did not start; it exited with ${await child.exited}`);
}

/** Bun gives every test file modules of its own, so what the process keeps lies outside of them (test/setup.ts). */
const kept = globalThis as {
  flotillaS3?: Promise<TestS3>;
  flotillaKept?: (command: string) => boolean;
  flotillaAtEnd?: () => unknown;
};

/**
 * Where the objects of a test's hub go: its own disk, or with FLOTILLA_TEST_OBJECTS=s3 a bucket of one server for the
 * whole test process, below a prefix of its own.
 */
export async function objectsEnv(): Promise<Record<string, string>> {
  if (process.env.FLOTILLA_TEST_OBJECTS !== "s3") return {};
  kept.flotillaS3 ??= startKept();
  return (await kept.flotillaS3).env(`hub-${crypto.randomUUID()}`);
}

async function startKept(): Promise<TestS3> {
  const server = await startS3();
  const { flotillaKept: others, flotillaAtEnd: before } = kept;
  kept.flotillaKept = (command) => command.includes(server.dir) || others?.(command) === true;
  kept.flotillaAtEnd = async () => {
    await server.stop();
    await before?.();
  };
  return server;
}
