import { and, asc, eq, gt, inArray, isNotNull, type SQL, sql } from "drizzle-orm";
import { cleanJson } from "#drizzle/clean.ts";
import { createBatcher } from "./batch.ts";
import type { Conn } from "./conn.ts";
import type { HostsRepo } from "./fleet-types.ts";
import { once } from "./once.ts";
import type { HostRow } from "./rows.ts";

type Cookies = HostRow["cookies"];

/** A host name has seldom more labels. */
const PREPARED_NAMES = 5;

/** JSON lists inside a row, changed by the database itself: two writers at once cannot lose what the other wrote. */
interface JsonKit {
  length(list: SQL): SQL;
  chars(list: SQL): SQL;
  /** The list with the one element of `one` at its end. */
  append(list: SQL, one: SQL): SQL;
  without(list: SQL, index: number): SQL;
  /** Stored cookies that are not in `fresh` and live after `now_s`, with the fresh ones behind them. */
  merged(stored: SQL, fresh: SQL, now_s: number): SQL;
  /** The last `max` of the list. */
  newest(list: SQL, max: number): SQL;
  /** `fresh`, where a cookie with the value `masked` has the stored one's value. */
  unmasked(stored: SQL, fresh: SQL, masked: string): SQL;
}

const PG: JsonKit = {
  length: (list) => sql`jsonb_array_length(${list})`,
  chars: (list) => sql`length(${list}::text)`,
  append: (list, one) => sql`${list} || ${one}`,
  without: (list, index) => sql`${list} - ${sql.raw(String(index))}`,
  merged: (stored, fresh, now_s) => sql`(
    select coalesce(jsonb_agg(o.c order by o.ord), '[]'::jsonb)
    from jsonb_array_elements(${stored}) with ordinality as o(c, ord)
    where ((o.c->>'expires')::float8 < 0 or (o.c->>'expires')::float8 > ${now_s}::float8)
      and (o.c->>'name', o.c->>'domain', o.c->>'path') not in
        (select n->>'name', n->>'domain', n->>'path' from jsonb_array_elements(${fresh}) as n)
    ) || ${fresh}`,
  newest: (list, max) => sql`(
    select jsonb_agg(o.c order by o.ord) from jsonb_array_elements(${list}) with ordinality as o(c, ord)
    where o.ord > jsonb_array_length(${list}) - ${max}::int)`,
  unmasked: (stored, fresh, masked) => sql`(
    select coalesce(jsonb_agg(case when o.c is null then n.c
        else n.c || jsonb_build_object('value', o.c->'value') end order by n.ord), '[]'::jsonb)
    from jsonb_array_elements(${fresh}) with ordinality as n(c, ord)
    left join jsonb_array_elements(${stored}) as o(c) on n.c->>'value' = ${masked}
      and (n.c->>'name', n.c->>'domain', n.c->>'path') = (o.c->>'name', o.c->>'domain', o.c->>'path')
    where n.c->>'value' <> ${masked} or o.c is not null)`,
};

const KEY = (row: string) =>
  sql.raw(["name", "domain", "path"].map((k) => `json_extract(${row}.value, '$.${k}')`).join(", "));

const SQLITE: JsonKit = {
  length: (list) => sql`json_array_length(${list})`,
  chars: (list) => sql`length(${list})`,
  append: (list, one) => sql`json_insert(${list}, '$[#]', json_extract(${one}, '$[0]'))`,
  without: (list, index) => sql`json_remove(${list}, ${`$[${index}]`})`,
  // The upsert's own columns cannot be seen from a subquery within a subquery, hence one list of both lists.
  merged: (stored, fresh, now_s) => sql`(
    select json_group_array(json(o.value) order by half.key, o.key)
    from json_each('[' || ${stored} || ',' || ${fresh} || ']') as half, json_each(half.value) as o
    where half.key = 1 or (
      (json_extract(o.value, '$.expires') < 0 or json_extract(o.value, '$.expires') > ${now_s})
      and (${KEY("o")}) not in (select ${KEY("n")} from json_each(${fresh}) as n)))`,
  newest: (list, max) => sql`(
    select json_group_array(json(o.value) order by o.key) from json_each(${list}) as o
    where o.key >= json_array_length(${list}) - ${max})`,
  unmasked: (stored, fresh, masked) => sql`(
    select json_group_array(json(case when o.value is null then n.value
        else json_set(n.value, '$.value', json_extract(o.value, '$.value')) end) order by n.key)
    from json_each(${fresh}) as n
    left join json_each(${stored}) as o on json_extract(n.value, '$.value') = ${masked}
      and (${KEY("n")}) = (${KEY("o")})
    where json_extract(n.value, '$.value') <> ${masked} or o.value is not null)`,
};

/** One of each (name, domain, path): the last. */
function distinct(cookies: Cookies): Cookies {
  const byKey = new Map(cookies.map((c) => [JSON.stringify([c.name, c.domain, c.path]), c]));
  return [...byKey.values()];
}

const fresh = (host: string, updated_at: number): HostRow => ({
  host,
  recipes: [],
  login_recipe: null,
  popup_policy: "allow",
  notes: "",
  cookies: [],
  proxy: null,
  updated_at,
});

export function hostsRepo({ q, t: { hosts }, dialect, atomic }: Conn): HostsRepo {
  const json = dialect === "postgres" ? PG : SQLITE;
  const stored = { recipes: sql`hosts.recipes`, cookies: sql`hosts.cookies` };
  const given = { recipes: sql`excluded.recipes`, cookies: sql`excluded.cookies` };
  const only = ([row]: HostRow[], host: string): HostRow => {
    if (!row) throw new Error(`host ${host} was neither inserted nor updated`);
    return row;
  };
  const alive = (cookies: Cookies, now: number) =>
    cookies.filter((c) => c.expires < 0 || c.expires > now / 1_000);
  const merge = (host: string, cookies: Cookies, now: number) =>
    q
      .insert(hosts)
      .values({ ...fresh(host, now), cookies })
      .onConflictDoUpdate({
        target: hosts.host,
        set: { cookies: json.merged(stored.cookies, given.cookies, now / 1_000), updated_at: now },
      });
  // Asked twice for every job. The statement for so many names is built once: building it takes longer than running it.
  const findSome = Array.from({ length: PREPARED_NAMES }, (_, n) => {
    const names = Array.from({ length: n + 1 }, (_, i) => sql.placeholder(`name${i}`));
    return once(() =>
      q
        .select()
        .from(hosts)
        .where(inArray(hosts.host, names))
        .prepare(`find_${n + 1}_hosts`),
    );
  });
  const find = async (names: string[]): Promise<HostRow[]> => {
    if (names.length === 0) return [];
    const known = findSome[names.length - 1];
    if (!known) return q.select().from(hosts).where(inArray(hosts.host, names));
    return known().execute(Object.fromEntries(names.map((name, i) => [`name${i}`, name])));
  };
  /** Postgres: what the jobs of one turn ask for, in one round trip. */
  const findAny = once(() =>
    q
      .select()
      .from(hosts)
      .where(
        sql`${hosts.host} in (select json_array_elements_text(${sql.placeholder("names")}::json))`,
      )
      .prepare("find_hosts"),
  );
  const batched = () =>
    createBatcher<string[], HostRow[]>({
      splits: () => false,
      one: find,
      many: async (asked) => {
        const rows = await findAny().execute({ names: cleanJson([...new Set(asked.flat())]) });
        return asked.map((names) => rows.filter(({ host }) => names.includes(host)));
      },
    });
  return {
    list: async () => q.select().from(hosts).orderBy(asc(hosts.host)),
    get: async (host) => {
      const [row] = await q.select().from(hosts).where(eq(hosts.host, host));
      return row ?? null;
    },
    find: dialect === "postgres" ? batched() : find,
    put: async (row) => {
      const { host, ...rest } = row;
      const rows = await q
        .insert(hosts)
        .values({ ...row, cookies: [] })
        .onConflictDoUpdate({ target: hosts.host, set: rest })
        .returning();
      return only(rows, host);
    },
    putCookies: async (host, cookies, masked, now) => {
      const wanted = distinct(cookies);
      // Only a row that is there can hold what a mask stands for; there is none in a new one.
      const plain = wanted.filter((c) => c.value !== masked);
      const list = sql`${sql.param(wanted, hosts.cookies)}`;
      const cast = dialect === "postgres" ? sql`${list}::jsonb` : list;
      const rows = await q
        .insert(hosts)
        .values({ ...fresh(host, now), cookies: plain })
        .onConflictDoUpdate({
          target: hosts.host,
          set: { cookies: json.unmasked(stored.cookies, cast, masked), updated_at: now },
        })
        .returning();
      return only(rows, host);
    },
    addRecipe: async (host, recipe, { max, max_chars }, now) => {
      const [row] = await q
        .insert(hosts)
        .values({ ...fresh(host, now), recipes: [recipe] })
        .onConflictDoUpdate({
          target: hosts.host,
          set: { recipes: json.append(stored.recipes, given.recipes), updated_at: now },
          setWhere: sql`${json.length(stored.recipes)} < ${max} and
            ${json.chars(stored.recipes)} + ${json.chars(given.recipes)} <= ${max_chars}`,
        })
        .returning();
      return row ?? null;
    },
    removeRecipe: async (host, index, now) => {
      const [row] = await q
        .update(hosts)
        .set({ recipes: json.without(sql`recipes`, index), updated_at: now })
        .where(and(eq(hosts.host, host), gt(json.length(sql`recipes`), index)))
        .returning();
      return row ?? null;
    },
    setLoginRecipe: async (host, login_recipe, now) => {
      const rows = await q
        .insert(hosts)
        .values({ ...fresh(host, now), login_recipe })
        .onConflictDoUpdate({ target: hosts.host, set: { login_recipe, updated_at: now } })
        .returning();
      return only(rows, host);
    },
    mergeCookies: async (byHost, max, now) => {
      // In one order, so that two calls at once wait for each other's rows instead of for ever.
      const names = Object.keys(byHost).sort();
      if (names.length === 0) return {};
      const these = inArray(hosts.host, names);
      const count = json.length(stored.cookies);
      const answers = await atomic([
        ...names.map((host) => merge(host, alive(distinct(byHost[host] ?? []), now), now)),
        q
          .update(hosts)
          .set({ cookies: json.newest(sql`cookies`, max) })
          .where(and(these, gt(count, max))),
        q
          .select({ host: hosts.host, count: count.as("count") })
          .from(hosts)
          .where(these),
      ]);
      const rows = answers.at(-1) ?? [];
      return Object.fromEntries(rows.map((row) => [String(row.host), Number(row.count)]));
    },
    cookiesAfter: (host, limit) =>
      q
        .select({ host: hosts.host, cookies: hosts.cookies, raw: sql<unknown>`${hosts.cookies}` })
        .from(hosts)
        .where(
          and(host === null ? undefined : gt(hosts.host, host), gt(json.length(stored.cookies), 0)),
        )
        .orderBy(asc(hosts.host))
        .limit(limit),
    exchangeCookies: async (host, raw, cookies) => {
      const was = dialect === "postgres" ? sql`${JSON.stringify(raw)}::jsonb` : sql`${raw}`;
      const changed = await q
        .update(hosts)
        .set({ cookies })
        .where(and(eq(hosts.host, host), sql`${hosts.cookies} = ${was}`))
        .returning({ host: hosts.host });
      return changed.length > 0;
    },
    proxies: async () => {
      const rows = await q
        .select({ host: hosts.host, proxy: hosts.proxy, raw: sql<unknown>`${hosts.proxy}` })
        .from(hosts)
        .where(isNotNull(hosts.proxy));
      return rows.flatMap(({ proxy, ...row }) => (proxy ? [{ ...row, proxy }] : []));
    },
    exchangeProxy: async (host, raw, proxy) => {
      const was = dialect === "postgres" ? sql`${JSON.stringify(raw)}::jsonb` : sql`${raw}`;
      const changed = await q
        .update(hosts)
        .set({ proxy })
        .where(and(eq(hosts.host, host), sql`${hosts.proxy} = ${was}`))
        .returning({ host: hosts.host });
      return changed.length > 0;
    },
    delete: async (host) => {
      const gone = await q
        .delete(hosts)
        .where(eq(hosts.host, host))
        .returning({ host: hosts.host });
      return gone.length > 0;
    },
  };
}
