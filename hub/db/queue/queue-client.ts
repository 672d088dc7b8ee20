import type { Sql } from "postgres";
import { DeadlineError, withDeadline } from "#shared/clock.ts";

/** The queue's connections. */
export interface QueueClient {
  /** @throws DeadlineError; what the server says */
  use<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  end(options: { timeout: number }): Promise<void>;
}

/**
 * Connections that are given up, all of them, when a call has no end within `deadline_ms`: one whose other end is gone
 * without a word stays with its transaction for ever, and there are so few that the queue would stand still with them.
 */
export function renewedClient(open: () => Sql, deadline_ms: number): QueueClient {
  let client = open();
  return {
    use: async (work) => {
      const used = client;
      try {
        return await withDeadline("the database", deadline_ms, work(used));
      } catch (err) {
        if (err instanceof DeadlineError && used === client) {
          client = open();
          void used.end({ timeout: 0 }).catch(() => {});
        }
        throw err;
      }
    },
    end: (options) => client.end(options),
  };
}
