import { type SQL, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";
import type { HostRow } from "../rows.ts";

/** A host without any settings. */
export const freshHost = (host: string, updated_at: number): HostRow => ({
  host,
  recipes: [],
  login_recipe: null,
  popup_policy: "allow",
  notes: "",
  cookies: [],
  proxy: null,
  record: null,
  browser_options: null,
  updated_at,
});

/** The row of an upsert. */
export const only = ([row]: HostRow[], host: string): HostRow => {
  if (!row) throw new Error(`host ${host} was neither inserted nor updated`);
  return row;
};

/** What was read from a JSON column, for comparison with what it holds now. */
export const asRead = (dialect: Conn["dialect"], raw: unknown): SQL =>
  dialect === "postgres" ? sql`${JSON.stringify(raw)}::jsonb` : sql`${raw}`;
