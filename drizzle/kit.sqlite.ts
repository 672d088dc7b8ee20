import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { ColumnKit } from "./kit.pg.ts";

const kit = {
  table: sqliteTable,
  str: (name: string) => text(name),
  int: (name: string) => integer(name),
  big: (name: string) => integer(name),
  float: (name: string) => real(name),
  bool: (name: string) => integer(name, { mode: "boolean" }),
  time: (name: string) => integer(name),
  json: <T>(name: string) => text(name, { mode: "json" }).$type<T>(),
  serial: (name: string) => integer(name),
  index,
  uniqueIndex,
  primaryKey,
};

/** Same helper names as `pgKit`. The schema parity test compares every column of both dialects, which guards this cast. */
export const sqliteKit = kit as unknown as ColumnKit;
