import type { Sql } from "postgres";
import { DeadlineError, withDeadline } from "#shared/kit/clock.ts";

/** For the calls beside the late one, in case the server is alive and only that call is slow. */
const LAST_ANSWERS_S = 5;

/** Connections to Postgres, with one watch over their calls. */
export interface WatchedClient {
  /** The current connections; a holder of this object always has those. */
  readonly sql: Sql;
  /** Runs a call within its deadline. @throws DeadlineError; what the server says */
  use<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  end(options: { timeout: number }): Promise<void>;
}

/**
 * Gives up all connections when a call does not end within `deadline_ms`: one whose other end silently went away keeps
 * its statement forever, and a pool of such connections serves no call any more.
 */
export function watchedClient(open: () => Sql, deadline_ms: number): WatchedClient {
  let client = open();
  const sql = new Proxy(client, {
    get: (_, key) => Reflect.get(client, key, client),
    apply: (_, self, args) => Reflect.apply(client, self, args),
  });
  return {
    sql,
    use: async (work) => {
      const used = client;
      try {
        return await withDeadline("the database", deadline_ms, work(used));
      } catch (err) {
        if (err instanceof DeadlineError && used === client) {
          client = open();
          void used.end({ timeout: LAST_ANSWERS_S }).catch(() => {});
        }
        throw err;
      }
    },
    end: (options) => client.end(options),
  };
}
