import { createHash } from "node:crypto";
import { RedisClient } from "bun";
import { retryWait } from "#shared/kit/backoff.ts";
import { DeadlineError, systemClock } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";

/** A read of the shared store is given 1.5 s (rules/storage#redis). */
const CALL_DEADLINE_MS = 1_500;
/** After a pause of this process, its timers fire before it has read the waiting replies. */
const GRACE_MS = 20;
const RETRY = { first: 50, most: 2_000 };
/** How often an idle connection, such as that of a quiet subscriber, is checked. */
const PING_EVERY_MS = 5_000;

/** Real time, whatever clock the hub was given, because a separate server is at the other end. */
const clock = systemClock;

/** A Lua script, sent once to each server and then named by its digest. */
export interface Script {
  text: string;
  sha: string;
}

export const defineScript = (text: string): Script => ({
  text,
  sha: createHash("sha1").update(text).digest("hex"),
});

/** One connection to Redis that comes back by itself. Nothing waits for it: while it is away, every call rejects. */
export interface Redis {
  /**
   * @throws AppError unavailable when Redis is away, or has not answered within 1.5 s (the call may still have taken
   * effect).
   */
  call<T>(ask: (client: RedisClient) => Promise<T>): Promise<T>;
  /** Runs the script in one step; numbers are passed and returned as text. */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  readonly connected: boolean;
  /** Called whenever the connection was lost and is there again. */
  onBack(handler: () => void): void;
  close(): Promise<void>;
}

export interface RedisOptions {
  log: Log;
  /** Called before a new connection may be used; a rejection gives it up. */
  onUp?: (client: RedisClient) => Promise<void>;
}

/** Opens the connection. @throws what the client throws when Redis cannot be used now. */
export async function connectRedis(url: string, options: RedisOptions): Promise<Redis> {
  const { log } = options;
  const stopping = new AbortController();
  const backs = new Set<() => void>();
  let current: RedisClient | null = await dial(url, options);
  let reconnecting: Promise<void> = Promise.resolve();

  const lose = (client: RedisClient, err: unknown): void => {
    if (client !== current) return;
    current = null;
    client.onclose = null;
    client.close();
    if (stopping.signal.aborted) return;
    log.warn({ err: errorMessage(err) }, "redis is away");
    reconnecting = reconnect();
  };
  const adopt = (client: RedisClient): void => {
    current = client;
    client.onclose = (err) => lose(client, err);
    if (!client.connected) lose(client, new Error("connection closed"));
  };
  const reconnect = async (): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted; failures += 1) {
      await clock.sleep(retryWait(failures, RETRY, Math.random()), stopping.signal);
      if (stopping.signal.aborted) return;
      const client = await dial(url, options).catch(() => null);
      if (!client) continue;
      if (stopping.signal.aborted) return client.close();
      log.info({ tries: failures + 1 }, "redis is back");
      adopt(client);
      for (const handler of backs) handler();
      return;
    }
  };
  const call = async <T>(ask: (client: RedisClient) => Promise<T>): Promise<T> => {
    const client = current;
    if (!client) throw unavailable(new Error("no connection"));
    try {
      return await answered(ask(client));
    } catch (err) {
      // Later calls wait as well, because one connection answers in order.
      if (err instanceof DeadlineError || isReplica(err)) lose(client, err);
      throw toUnavailable(err);
    }
  };
  adopt(current);
  const keepalive = startLoop({
    name: "redis keepalive",
    everyMs: PING_EVERY_MS,
    clock,
    log,
    pass: async () => void (await call((client) => client.ping()).catch(() => {})),
  });
  return {
    call,
    run: (script, keys, args) => call((client) => runScript(client, script, keys, args)),
    get connected() {
      return current !== null;
    },
    onBack: (handler) => void backs.add(handler),
    close: async () => {
      stopping.abort();
      if (current) lose(current, null);
      await keepalive.stop();
      await reconnecting;
    },
  };
}

async function dial(url: string, { onUp }: RedisOptions): Promise<RedisClient> {
  const client = new RedisClient(url, {
    connectionTimeout: CALL_DEADLINE_MS,
    // Reconnecting is done here: forever, and without a queue that grows meanwhile.
    autoReconnect: false,
    enableOfflineQueue: false,
  });
  try {
    await answered(client.connect());
    // The client does not wait until the database of its URL is selected.
    await answered(client.ping());
    await onUp?.(client);
    return client;
  } catch (err) {
    client.close();
    throw err;
  }
}

async function runScript(
  client: RedisClient,
  { text, sha }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return await client.send("EVALSHA", [sha, ...rest]);
  } catch (err) {
    if (!errorMessage(err).startsWith("NOSCRIPT")) throw err;
    return client.send("EVAL", [text, ...rest]);
  }
}

/** Its own timers, because every call of the hub passes here and most are answered within a millisecond. */
function answered<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new DeadlineError("redis", CALL_DEADLINE_MS));
    let timer = setTimeout(() => {
      timer = setTimeout(late, GRACE_MS);
    }, CALL_DEADLINE_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** A server that became a replica takes no writes; the address may lead to the new primary. */
const isReplica = (err: unknown): boolean => errorMessage(err).startsWith("READONLY");

/** Replies of a server that cannot serve now; other errors show a bug of this program. */
const CANNOT_NOW =
  /^(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|OOM|MISCONF|NOREPLICAS|NOAUTH|NOPERM|ERR max number of clients)/;

const unavailable = (cause: unknown): AppError =>
  new AppError("unavailable", "the shared store does not answer", { cause });

function toUnavailable(err: unknown): unknown {
  if (err instanceof DeadlineError) return unavailable(err);
  const code = err instanceof Error && "code" in err ? String(err.code) : "";
  const refused = code === "ERR_REDIS_SERVER_ERROR" && !CANNOT_NOW.test(errorMessage(err));
  return refused || !code.startsWith("ERR_REDIS") ? err : unavailable(err);
}
