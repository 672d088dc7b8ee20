import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RedisClient } from "bun";
import { systemClock } from "#shared/kit/clock.ts";
import { freePort } from "./ports.ts";

/** A private Redis server on a free port of the loopback interface. */
export interface TestRedis {
  url: string;
  /** One command over a connection of the test's own. */
  // biome-ignore lint/suspicious/noExplicitAny: replies have every shape
  send(command: string, ...args: string[]): Promise<any>;
  /** Loses everything it holds. */
  flush(): Promise<void>;
  /** Ends the server at once; without `aof` its data are lost. */
  kill(): Promise<void>;
  /** After `kill`: at the same address. */
  restart(): Promise<void>;
  /** Stops the server's process without ending it, so that it is reachable and silent; and lets it go on. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export interface TestRedisOptions {
  /** Writes survive a kill. */
  aof?: boolean;
  password?: string;
  /** An address of a test's network (test/support/servers/lan.ts) beside the loopback. */
  listen?: string;
}

const START_DEADLINE_MS = 60_000;
const PORT_TRIES = 5;

/**
 * Starts a server in some 20 ms. It dies with this process (also when that is killed), but `stop` it after the suite.
 * @throws when Redis is not installed: the suite is not complete without it.
 */
export async function startRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  if (!Bun.which("redis-server"))
    throw new Error(
      "Redis is not installed, and this suite needs it: apt-get install redis-server",
    );
  const dir = mkdtempSync(join(tmpdir(), `flotilla-redis-${process.pid}-`));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  let server: Server | undefined;
  let port = 0;
  try {
    for (let tries = 1; !server; tries += 1) {
      port = freePort();
      try {
        server = await launch(port, dir, options);
      } catch (err) {
        // Somebody else may have taken the port between finding it free and listening on it.
        if (tries === PORT_TRIES) throw err;
      }
    }
  } catch (err) {
    remove();
    throw err;
  }
  let running = server;
  const url = urlFor(port, options);
  let client: RedisClient | null = null;
  const hangUp = () => {
    client?.close();
    client = null;
  };
  const send: TestRedis["send"] = async (command, ...args) => {
    client ??= new RedisClient(url);
    return client.send(command, args);
  };
  const kill = async () => {
    hangUp();
    await running.end();
  };
  return {
    url,
    send,
    flush: () => send("FLUSHALL"),
    kill,
    restart: async () => {
      running = await launch(port, dir, options);
    },
    freeze: () => void process.kill(running.pid, "SIGSTOP"),
    thaw: () => void process.kill(running.pid, "SIGCONT"),
    stop: async () => {
      await kill();
      remove();
    },
  };
}

const urlFor = (port: number, { password }: TestRedisOptions): string =>
  `redis://${password ? `:${encodeURIComponent(password)}@` : ""}127.0.0.1:${port}`;

interface Server {
  pid: number;
  end(): Promise<void>;
}

/** Starts the server and waits until it answers. */
async function launch(port: number, dir: string, options: TestRedisOptions): Promise<Server> {
  const setpriv = Bun.which("setpriv");
  const settings = {
    port,
    dir,
    save: "",
    appendonly: options.aof ? "yes" : "no",
    appendfsync: "always",
    ...(options.password && { requirepass: options.password }),
    ...(options.listen && { "protected-mode": "no" }),
  };
  const [command = "", ...args] = [
    ...(setpriv ? [setpriv, "--pdeathsig", "KILL"] : []),
    "redis-server",
    ...["--bind", "127.0.0.1", ...(options.listen ? [options.listen] : [])],
    ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
  ];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  const ready = Promise.withResolvers<void>();
  child.stdout.on("data", (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4_000);
    if (output.includes("Ready to accept connections")) ready.resolve();
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const end = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await exited;
  };
  const failed = Promise.race([exited, systemClock.sleep(START_DEADLINE_MS)]).then(() => {
    throw new Error(`Redis did not start:\n${output}`);
  });
  failed.catch(() => {});
  try {
    await Promise.race([ready.promise, failed]);
  } catch (err) {
    await end();
    throw err;
  }
  return { pid: child.pid ?? 0, end };
}
