import type { Sql } from "postgres";
import { systemClock, withDeadline } from "#shared/kit/clock.ts";
import { UnavailableError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";

/** Advisory locks are per database, so two fleets may share one server. */
const HUB_LOCK_ID = 0x666c6f75;
const RETRY_MS = 50;
/** How soon the hub notices a lost session and takes its lock again. */
const WATCH_EVERY_MS = 1_000;
const QUERY_DEADLINE_MS = 5_000;
const CLOSE_TIMEOUT_S = 5;

/** Options of the one connection whose session holds the lock. The connection never ends by itself. */
export const LOCK_SESSION = {
  max: 1,
  max_lifetime: null,
  connection: {
    application_name: "flotilla hub lock",
    // When a hub's machine vanishes, the server drops the lock within half a minute, not after the system's two hours.
    tcp_keepalives_idle: 10,
    tcp_keepalives_interval: 5,
    tcp_keepalives_count: 3,
  },
};

/**
 * Makes this process the only hub on the database of `client`, whose one connection has the options LOCK_SESSION. The lock is
 * an advisory lock of its session, which the server drops however the process ends. Hubs that share the database through Redis
 * take no lock, and neither do control planes (rules/storage#postgres).
 * A lost session is replaced and its lock taken again; when another hub was faster, the log says so.
 * @throws UnavailableError when another hub holds the lock for longer than `wait_ms`.
 */
export async function holdHubLock(
  client: Sql,
  wait_ms: number,
  log: Log,
): Promise<() => Promise<void>> {
  const close = () => client.end({ timeout: CLOSE_TIMEOUT_S });
  try {
    const session = await takeLock(client, wait_ms);
    const pass = watchSession(client, session, log);
    const watch = startLoop({
      name: "hub lock",
      everyMs: WATCH_EVERY_MS,
      clock: systemClock,
      log,
      pass,
    });
    return async () => {
      await watch.stop();
      await close();
    };
  } catch (err) {
    await close();
    throw err;
  }
}

async function takeLock(client: Sql, wait_ms: number): Promise<number> {
  const giveUpAt = performance.now() + wait_ms;
  for (;;) {
    const { held, session } = await tryLock(client);
    if (held) return session;
    if (performance.now() >= giveUpAt)
      throw new UnavailableError(
        "SVC_DB_URL: another hub uses this database; several hubs need SVC_REDIS_URL",
      );
    await systemClock.sleep(RETRY_MS);
  }
}

/** One pass checks whether the session that took the lock is still the one in use. */
function watchSession(client: Sql, first: number, log: Log): () => Promise<void> {
  let session: number | null = first;
  let said = "";
  const warnOnce = (message: string) => {
    if (message !== said) log.error({}, message);
    said = message;
  };
  return async () => {
    try {
      if ((await sessionOf(client)) === session) return;
      const now = await tryLock(client);
      session = now.held ? now.session : null;
      if (!now.held)
        return warnOnce("another hub has taken this hub's database; only one of them may run");
      said = "";
      log.info({}, "the hub's lock on its database was lost and has been taken again");
    } catch (err) {
      warnOnce(`could not check the hub's lock on its database: ${errorMessage(err)}`);
    }
  };
}

const ask = <T>(query: Promise<T>): Promise<T> =>
  withDeadline("the lock of the database", QUERY_DEADLINE_MS, query);

async function sessionOf(client: Sql): Promise<number> {
  const [row] = await ask(client<[{ session: number }]>`select pg_backend_pid() as session`);
  return row.session;
}

/** It is one statement, so the session that it names is the one that holds the lock. */
async function tryLock(client: Sql): Promise<{ held: boolean; session: number }> {
  const [row] = await ask(
    client<[{ held: boolean; session: number }]>`
      select pg_try_advisory_lock(${HUB_LOCK_ID}) as held, pg_backend_pid() as session`,
  );
  return row;
}
