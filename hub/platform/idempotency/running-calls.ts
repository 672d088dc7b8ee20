import type { Clock } from "#shared/kit/clock.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { Db } from "../db/storage.ts";

/**
 * How long a call counts as running after its process last renewed it: at most this long, a repeated call waits for a
 * dead hub.
 */
export const CALL_LEASE_MS = 5_000;
const RENEW_MS = 1_500;
/** Keys renewed in one statement. */
const BATCH = 500;

/** The calls with an Idempotency-Key that run in this process. */
export interface RunningCalls {
  /** Names this process among those that share the database, new at every start. */
  readonly owner: string;
  get(key: string): Promise<unknown> | undefined;
  /** Keeps the key leased until the call has ended. */
  add(key: string, call: Promise<unknown>): void;
}

interface RunningDeps {
  readonly clock: Clock;
  readonly db: { readonly idempotency: Pick<Db["idempotency"], "renew"> };
}

/** One timer serves all calls, and there is none without calls: most are over before the first renewal. */
export function createRunningCalls({ clock, db }: RunningDeps): RunningCalls {
  const owner = newToken();
  const calls = new Map<string, Promise<unknown>>();
  let idle = new AbortController();
  const renewAll = async () => {
    const keys = [...calls.keys()];
    for (let from = 0; from < keys.length; from += BATCH) {
      const some = keys.slice(from, from + BATCH);
      await db.idempotency.renew(some, owner, clock.monotonic(), CALL_LEASE_MS);
    }
  };
  const renewWhileBusy = async ({ signal }: AbortController) => {
    for (;;) {
      await clock.sleep(RENEW_MS, signal);
      if (signal.aborted) return;
      // Without the database no other process takes the key over either.
      await renewAll().catch(() => {});
    }
  };
  return {
    owner,
    get: (key) => calls.get(key),
    add: (key, call) => {
      if (calls.size === 0) {
        idle = new AbortController();
        void renewWhileBusy(idle);
      }
      calls.set(key, call);
      const ended = () => {
        calls.delete(key);
        if (calls.size === 0) idle.abort();
      };
      void call.then(ended, ended);
    },
  };
}
