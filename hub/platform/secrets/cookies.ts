import type { Log } from "#shared/kit/log.ts";
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import type { HostsRepo } from "../db/fleet-types.ts";
import type { HostRow } from "../db/rows.ts";
import type { Keyring } from "./keyring.ts";
import { openOrMask, sealProxy } from "./proxies.ts";
import { openValue, type Place, sealValue, Unopened } from "./values.ts";

/** A value belongs to one cookie of one host; names and domains stay readable, so the database can merge by them. */
export const cookiePlace = (host: string, { name, domain, path }: StoredCookie): Place => [
  "cookie",
  host,
  domain,
  path,
  name,
];

interface Deps {
  keys: Keyring;
  log: Log;
}

/**
 * The hosts' settings, with the values of their cookies and the login of their proxy encrypted where they are stored,
 * and in clear only in the result of `find`, which jobs get. A cookie that cannot be opened is left out, and the log
 * says so.
 */
export function sealedHosts(repo: HostsRepo, { keys, log }: Deps): HostsRepo {
  const seal = (host: string, cookies: StoredCookie[], masked?: string): StoredCookie[] =>
    cookies.map((cookie) =>
      cookie.value === masked
        ? cookie
        : { ...cookie, value: sealValue(keys, cookie.value, cookiePlace(host, cookie)) },
    );
  const open = (host: string, cookie: StoredCookie): StoredCookie[] => {
    try {
      return [{ ...cookie, value: openValue(keys, cookie.value, cookiePlace(host, cookie)) }];
    } catch (err) {
      if (!(err instanceof Unopened)) throw err;
      const { name, domain } = cookie;
      log.warn({ host, domain, name, why: err.message }, "a cookie cannot be decrypted");
      return [];
    }
  };
  const opened = (row: HostRow): HostRow => {
    if (row.cookies.length === 0 && row.proxy === null) return row;
    const { host, cookies, proxy } = row;
    return {
      ...row,
      cookies: cookies.flatMap((cookie) => open(host, cookie)),
      proxy: proxy && openOrMask({ keys, log }, ["host", host], proxy),
    };
  };
  return {
    ...repo,
    find: async (hosts) => (await repo.find(hosts)).map(opened),
    put: (row) =>
      repo.put(row.proxy ? { ...row, proxy: sealProxy(keys, ["host", row.host], row.proxy) } : row),
    putCookies: (host, cookies, masked, now) =>
      repo.putCookies(host, seal(host, cookies, masked), masked, now),
    mergeCookies: (cookies, max, now) => {
      const sealed = Object.entries(cookies).map(([host, own]) => [host, seal(host, own)]);
      return repo.mergeCookies(Object.fromEntries(sealed), max, now);
    },
  };
}
