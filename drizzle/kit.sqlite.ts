import {
  customType,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { cleanJson, cleanText, orNull } from "./clean.ts";
import type { ColumnKit } from "./kit.pg.ts";

const text = customType<{ data: string; driverData: string }>({
  dataType: () => "text",
  toDriver: orNull(cleanText),
});

const json = customType<{ data: unknown; driverData: string }>({
  dataType: () => "text",
  toDriver: orNull(cleanJson),
  fromDriver: (value) => JSON.parse(value),
});

/** Drizzle's own stores null as false where the value comes with a prepared statement. */
const bool = customType<{ data: boolean; driverData: number }>({
  dataType: () => "integer",
  toDriver: orNull(Number),
  fromDriver: (value) => value === 1,
});

const kit = {
  table: sqliteTable,
  str: (name: string) => text(name),
  int: (name: string) => integer(name),
  big: (name: string) => integer(name),
  float: (name: string) => real(name),
  bool: (name: string) => bool(name),
  time: (name: string) => integer(name),
  json: <T>(name: string) => json(name).$type<T>(),
  // Without AUTOINCREMENT SQLite gives the id of the newest row again once that row is deleted.
  key: (name: string) => integer(name).primaryKey({ autoIncrement: true }),
  serial: (name: string) => integer(name),
  index,
  uniqueIndex,
  primaryKey,
};

/** Same helper names as `pgKit`. The schema parity test compares every column of both dialects, which guards this cast. */
export const sqliteKit = kit as unknown as ColumnKit;
