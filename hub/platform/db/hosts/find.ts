import { inArray, sql } from "drizzle-orm";
import { cleanJson } from "#drizzle/clean.ts";
import { once } from "#shared/kit/once.ts";
import { createBatcher } from "../batch.ts";
import type { Conn } from "../conn.ts";
import type { HostsRepo } from "../fleet-types.ts";
import type { HostRow } from "../rows.ts";

/** A host name has seldom more labels. */
const PREPARED_NAMES = 5;

/**
 * Asked twice for every job. The statement for each number of names is built once, because building it takes longer
 * than running it.
 */
function findSome({ q, t: { hosts } }: Conn): HostsRepo["find"] {
  const prepared = Array.from({ length: PREPARED_NAMES }, (_, n) => {
    const names = Array.from({ length: n + 1 }, (_, i) => sql.placeholder(`name${i}`));
    return once(() =>
      q
        .select()
        .from(hosts)
        .where(inArray(hosts.host, names))
        .prepare(`find_${n + 1}_hosts`),
    );
  });
  return async (names) => {
    if (names.length === 0) return [];
    const known = prepared[names.length - 1];
    if (!known) return q.select().from(hosts).where(inArray(hosts.host, names));
    return known().execute(Object.fromEntries(names.map((name, i) => [`name${i}`, name])));
  };
}

/** Postgres: what the jobs of one turn ask for, in one round trip. */
function findTogether({ q, t: { hosts } }: Conn, one: HostsRepo["find"]): HostsRepo["find"] {
  const findAny = once(() =>
    q
      .select()
      .from(hosts)
      .where(
        sql`${hosts.host} in (select json_array_elements_text(${sql.placeholder("names")}::json))`,
      )
      .prepare("find_hosts"),
  );
  return createBatcher<string[], HostRow[]>({
    splits: () => false,
    one,
    many: async (asked) => {
      const rows = await findAny().execute({ names: cleanJson([...new Set(asked.flat())]) });
      return asked.map((names) => rows.filter(({ host }) => names.includes(host)));
    },
  });
}

export function findHosts(conn: Conn): HostsRepo["find"] {
  const find = findSome(conn);
  return conn.dialect === "postgres" ? findTogether(conn, find) : find;
}
