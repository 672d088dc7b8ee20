import { and, asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";
import type { HostsRepo } from "../fleet-types.ts";
import type { HostRow } from "../rows.ts";
import { jsonLists } from "./json-lists.ts";
import { asRead, freshHost, only } from "./row.ts";

type Cookies = HostRow["cookies"];

/** Keeps the last cookie of each (name, domain, path). */
function distinct(cookies: Cookies): Cookies {
  const byKey = new Map(cookies.map((c) => [JSON.stringify([c.name, c.domain, c.path]), c]));
  return [...byKey.values()];
}

const alive = (cookies: Cookies, now: number): Cookies =>
  cookies.filter((c) => c.expires < 0 || c.expires > now / 1_000);

const STORED = sql`hosts.cookies`;

/** The value that the call gives, not the stored one. */
function putCookies({ q, t: { hosts }, dialect }: Conn): HostsRepo["putCookies"] {
  const lists = jsonLists(dialect);
  return async (host, cookies, masked, now) => {
    const wanted = distinct(cookies);
    // Only an existing row can hold the value that a mask stands for.
    const plain = wanted.filter((c) => c.value !== masked);
    const list = sql`${sql.param(wanted, hosts.cookies)}`;
    const cast = dialect === "postgres" ? sql`${list}::jsonb` : list;
    const rows = await q
      .insert(hosts)
      .values({ ...freshHost(host, now), cookies: plain })
      .onConflictDoUpdate({
        target: hosts.host,
        set: { cookies: lists.unmasked(STORED, cast, masked), updated_at: now },
      })
      .returning();
    return only(rows, host);
  };
}

/** What was found, beside what is stored. */
function mergeCookies({ q, t: { hosts }, dialect, atomic }: Conn): HostsRepo["mergeCookies"] {
  const lists = jsonLists(dialect);
  const merge = (host: string, cookies: Cookies, now: number) =>
    q
      .insert(hosts)
      .values({ ...freshHost(host, now), cookies })
      .onConflictDoUpdate({
        target: hosts.host,
        set: {
          cookies: lists.merged(STORED, sql`excluded.cookies`, now / 1_000),
          updated_at: now,
        },
      });
  return async (byHost, max, now) => {
    // In one order, so two simultaneous calls wait for each other's rows and never deadlock.
    const names = Object.keys(byHost).sort();
    if (names.length === 0) return {};
    const these = inArray(hosts.host, names);
    const count = lists.length(STORED);
    const answers = await atomic([
      ...names.map((host) => merge(host, alive(distinct(byHost[host] ?? []), now), now)),
      q
        .update(hosts)
        .set({ cookies: lists.newest(sql`cookies`, max) })
        .where(and(these, gt(count, max))),
      q
        .select({ host: hosts.host, count: count.as("count") })
        .from(hosts)
        .where(these),
    ]);
    const rows = answers.at(-1) ?? [];
    return Object.fromEntries(rows.map((row) => [String(row.host), Number(row.count)]));
  };
}

export function hostCookies(
  conn: Conn,
): Pick<HostsRepo, "putCookies" | "mergeCookies" | "cookiesAfter" | "exchangeCookies"> {
  const {
    q,
    t: { hosts },
    dialect,
  } = conn;
  return {
    putCookies: putCookies(conn),
    mergeCookies: mergeCookies(conn),
    cookiesAfter: (host, limit) =>
      q
        .select({ host: hosts.host, cookies: hosts.cookies, raw: sql<unknown>`${hosts.cookies}` })
        .from(hosts)
        .where(
          and(
            host === null ? undefined : gt(hosts.host, host),
            gt(jsonLists(dialect).length(STORED), 0),
          ),
        )
        .orderBy(asc(hosts.host))
        .limit(limit),
    exchangeCookies: async (host, raw, cookies) => {
      const changed = await q
        .update(hosts)
        .set({ cookies })
        .where(and(eq(hosts.host, host), sql`${hosts.cookies} = ${asRead(dialect, raw)}`))
        .returning({ host: hosts.host });
      return changed.length > 0;
    },
  };
}
