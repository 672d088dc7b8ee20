import { and, asc, eq, isNotNull, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";
import { first } from "../first.ts";
import type { HostsRepo } from "../fleet-types.ts";
import { hostCookies } from "./cookies.ts";
import { findHosts } from "./find.ts";
import { hostRecipes } from "./recipes.ts";
import { asRead, only } from "./row.ts";

/** Proxies of hosts, whose passwords are encrypted where they are stored. */
function hostProxies({
  q,
  t: { hosts },
  dialect,
}: Conn): Pick<HostsRepo, "proxies" | "exchangeProxy"> {
  return {
    proxies: async () => {
      const rows = await q
        .select({ host: hosts.host, proxy: hosts.proxy, raw: sql<unknown>`${hosts.proxy}` })
        .from(hosts)
        .where(isNotNull(hosts.proxy));
      return rows.flatMap(({ proxy, ...row }) => (proxy ? [{ ...row, proxy }] : []));
    },
    exchangeProxy: async (host, raw, proxy) => {
      const changed = await q
        .update(hosts)
        .set({ proxy })
        .where(and(eq(hosts.host, host), sql`${hosts.proxy} = ${asRead(dialect, raw)}`))
        .returning({ host: hosts.host });
      return changed.length > 0;
    },
  };
}

export function hostsRepo(conn: Conn): HostsRepo {
  const {
    q,
    t: { hosts },
  } = conn;
  return {
    list: async () => q.select().from(hosts).orderBy(asc(hosts.host)),
    get: async (host) => first(await q.select().from(hosts).where(eq(hosts.host, host))),
    find: findHosts(conn),
    put: async (row) => {
      const { host, ...rest } = row;
      const rows = await q
        .insert(hosts)
        .values({ ...row, cookies: [] })
        .onConflictDoUpdate({ target: hosts.host, set: rest })
        .returning();
      return only(rows, host);
    },
    delete: async (host) => {
      const gone = await q
        .delete(hosts)
        .where(eq(hosts.host, host))
        .returning({ host: hosts.host });
      return gone.length > 0;
    },
    ...hostRecipes(conn),
    ...hostCookies(conn),
    ...hostProxies(conn),
  };
}
