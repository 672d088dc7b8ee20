import { type SQL, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";

/**
 * JSON lists inside a row, which the database itself changes, so two simultaneous writers cannot lose each other's
 * changes.
 */
interface JsonLists {
  length(list: SQL): SQL;
  chars(list: SQL): SQL;
  /** The list with the one element of `one` at its end. */
  append(list: SQL, one: SQL): SQL;
  without(list: SQL, index: number): SQL;
  /** Stored cookies that are not in `fresh` and are valid after `now_s`, followed by the fresh ones. */
  merged(stored: SQL, fresh: SQL, now_s: number): SQL;
  /** The last `max` of the list. */
  newest(list: SQL, max: number): SQL;
  /** `fresh`, where a cookie with the value `masked` has the stored one's value. */
  unmasked(stored: SQL, fresh: SQL, masked: string): SQL;
}

const PG: JsonLists = {
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

const SQLITE: JsonLists = {
  length: (list) => sql`json_array_length(${list})`,
  chars: (list) => sql`length(${list})`,
  append: (list, one) => sql`json_insert(${list}, '$[#]', json_extract(${one}, '$[0]'))`,
  without: (list, index) => sql`json_remove(${list}, ${`$[${index}]`})`,
  // A subquery within a subquery cannot see the upsert's own columns, hence one list of both lists.
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

export const jsonLists = (dialect: Conn["dialect"]): JsonLists =>
  dialect === "postgres" ? PG : SQLITE;
