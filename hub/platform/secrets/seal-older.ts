import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Db } from "../db/storage.ts";
import { type ConvertDeps, type Converted, convertSecrets } from "./convert.ts";
import { adoptFirst } from "./key-check.ts";

/** A start does not rewrite a larger database, because it would be busy with that instead of its work. */
const MAX_SCRUB_BYTES = 64 * 1024 ** 2;
const RETRY_MS = 60_000;

interface Deps extends Omit<ConvertDeps, "signal"> {
  db: ConvertDeps["db"] & Pick<Db, "scrub">;
  clock: Clock;
  log: Log;
}

async function sealOnce(deps: Deps, signal: AbortSignal): Promise<void> {
  const { db, log } = deps;
  const done: Converted = await convertSecrets({ ...deps, signal }, "seal");
  const { cookies, profiles, proxies, unreadable } = done;
  if (unreadable.cookies + unreadable.profiles + unreadable.proxies === 0)
    await adoptFirst(db.settings, deps.keys, deps.clock.now());
  else
    log.error(
      { unreadable },
      "some cookies, profiles or logins of proxies are encrypted with keys that are not in SVC_SECRET_KEY_FILE: add them to it, or run flotilla secrets forget",
    );
  if (cookies + profiles + proxies === 0) return;
  log.info(
    { cookies, profiles, proxies },
    "cookies and profiles were encrypted with the key of today",
  );
  if (cookies > 0 && !(await db.scrub(MAX_SCRUB_BYTES)))
    log.warn(
      {},
      "free pages of the database may still hold cookies from before: flotilla secrets rotate, with the hub stopped, writes it anew",
    );
}

/**
 * Encrypts what earlier versions have stored unencrypted, and what is encrypted with an older key, beside the hub's
 * work.
 * @returns a function that stops it
 */
export function sealOlder(deps: Deps): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const work = async () => {
    while (!signal.aborted) {
      try {
        return await sealOnce(deps, signal);
      } catch (err) {
        if (signal.aborted) return;
        deps.log.warn({ err: errorMessage(err) }, "not all secrets could be encrypted yet");
        await deps.clock.sleep(RETRY_MS, signal);
      }
    }
  };
  const done = work();
  return {
    stop: async () => {
      stopping.abort();
      await done;
    },
  };
}
