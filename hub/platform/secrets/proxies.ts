import { MASK } from "#shared/kit/hide-credentials.ts";
import type { Log } from "#shared/kit/log.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { JobProxiesRepo } from "../db/fleet-types.ts";
import type { Db } from "../db/storage.ts";
import type { Keyring } from "./keyring.ts";
import { keyIdOf, openValue, type Place, sealValue, Unopened } from "./values.ts";

/** Whose proxy it is: a job's or a host's. */
export type ProxyOwner = readonly ["job" | "host", id: string];

const FIELDS = ["username", "password"] as const;
const placeOf = ([kind, id]: ProxyOwner, { server }: ProxyOption, field: string): Place => [
  "proxy",
  // A login can be opened only for its own server.
  kind,
  id,
  server,
  field,
];

const withFields = (
  proxy: ProxyOption,
  change: (value: string, field: (typeof FIELDS)[number]) => string,
): ProxyOption => {
  const made = { ...proxy };
  for (const field of FIELDS) {
    const value = proxy[field];
    if (value !== null) made[field] = change(value, field);
  }
  return made;
};

/** The proxy with its login encrypted, each part bound to its place. */
export const sealProxy = (keys: Keyring, owner: ProxyOwner, proxy: ProxyOption): ProxyOption =>
  withFields(proxy, (value, field) => sealValue(keys, value, placeOf(owner, proxy, field)));

/** @throws Unopened */
export const openProxy = (keys: Keyring, owner: ProxyOwner, proxy: ProxyOption): ProxyOption =>
  withFields(proxy, (value, field) => openValue(keys, value, placeOf(owner, proxy, field)));

interface Deps {
  keys: Keyring;
  log: Log;
}

/**
 * The proxy as a worker gets it. A login that cannot be opened is masked, because the worker refuses to go out without
 * it.
 */
export function openOrMask(
  { keys, log }: Deps,
  owner: ProxyOwner,
  proxy: ProxyOption,
): ProxyOption {
  try {
    return openProxy(keys, owner, proxy);
  } catch (err) {
    if (!(err instanceof Unopened)) throw err;
    const [kind, id] = owner;
    log.warn({ [kind]: id, why: err.message }, "the login of a proxy cannot be decrypted");
    return withFields(proxy, () => MASK);
  }
}

/** The logins of jobs' proxies, encrypted where they are stored. */
export const sealedJobProxies = (repo: JobProxiesRepo, deps: Deps): JobProxiesRepo => ({
  ...repo,
  put: (row) => repo.put({ ...row, proxy: sealProxy(deps.keys, ["job", row.job_id], row.proxy) }),
  get: async (job_id) => {
    const proxy = await repo.get(job_id);
    return proxy && openOrMask(deps, ["job", job_id], proxy);
  },
});

/** Whether every part of the login is encrypted with the first key. */
const isCurrent = ({ first }: Keyring, proxy: ProxyOption): boolean =>
  FIELDS.every((field) => proxy[field] === null || keyIdOf(proxy[field]) === first.id);

/**
 * The proxy as a conversion leaves it; null where it does not change. `forget` removes a login that no key opens and
 * leaves the proxy, because nothing may go out without it.
 * @throws Unopened
 */
function converted(
  keys: Keyring,
  to: "seal" | "open" | "forget",
  owner: ProxyOwner,
  proxy: ProxyOption,
): ProxyOption | null {
  if (proxy.username === null) return null;
  if (to === "seal")
    return isCurrent(keys, proxy) ? null : sealProxy(keys, owner, openProxy(keys, owner, proxy));
  if (to === "open") return openProxy(keys, owner, proxy);
  try {
    openProxy(keys, owner, proxy);
    return null;
  } catch (err) {
    if (err instanceof Unopened) return { ...proxy, username: null, password: null };
    throw err;
  }
}

interface Rewritten {
  changed: number;
  unreadable: number;
}

/** The same for all proxies of a database. Other processes seal what they write meanwhile. */
export async function convertProxies(
  { db, keys }: { db: Pick<Db, "hosts" | "job_proxies">; keys: Keyring },
  to: "seal" | "open" | "forget",
): Promise<Rewritten> {
  const done = { changed: 0, unreadable: 0 };
  const each = async (
    owner: ProxyOwner,
    proxy: ProxyOption,
    write: (made: ProxyOption) => Promise<unknown>,
  ) => {
    try {
      const made = converted(keys, to, owner, proxy);
      if (made === null) return;
      await write(made);
      done.changed += 1;
    } catch (err) {
      if (!(err instanceof Unopened)) throw err;
      done.unreadable += 1;
    }
  };
  for (const { host, proxy, raw } of await db.hosts.proxies())
    await each(["host", host], proxy, (made) => db.hosts.exchangeProxy(host, raw, made));
  for (const { job_id, proxy } of await db.job_proxies.list())
    await each(["job", job_id], proxy, (made) => db.job_proxies.replace(job_id, made));
  return done;
}
