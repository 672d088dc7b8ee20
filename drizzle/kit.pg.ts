import {
  bigint,
  bigserial,
  boolean,
  customType,
  doublePrecision,
  index,
  integer,
  pgTable,
  primaryKey,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { cleanJson, cleanText, orNull } from "./clean.ts";

const text = customType<{ data: string; driverData: string }>({
  dataType: () => "text",
  toDriver: orNull(cleanText),
});

/** postgres-js parses jsonb itself; Drizzle's own column would parse a stored string like "123" once more. */
const jsonb = customType<{ data: unknown; driverData: unknown }>({
  dataType: () => "jsonb",
  toDriver: orNull(cleanJson),
});

/**
 * Column helpers of the one table definition. Repositories see the Postgres types, so that a call which only
 * one dialect has is a compile error; `kit.sqlite.ts` offers the same names.
 */
export const pgKit = {
  table: pgTable,
  str: (name: string) => text(name),
  int: (name: string) => integer(name),
  /** Whole numbers beyond 2^31: sizes in bytes, tokens, and epoch milliseconds (see `time`). */
  big: (name: string) => bigint(name, { mode: "number" }),
  float: (name: string) => doublePrecision(name),
  bool: (name: string) => boolean(name),
  /** Epoch milliseconds in both dialects; the wire has ISO 8601. */
  time: (name: string) => bigint(name, { mode: "number" }),
  json: <T>(name: string) => jsonb(name).$type<T>(),
  /** A primary key that counts up and is never given twice, also not after a delete. */
  key: (name: string) => bigint(name, { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  serial: (name: string) => bigserial(name, { mode: "number" }),
  index,
  uniqueIndex,
  primaryKey,
};

export type ColumnKit = typeof pgKit;
