import { type Column, like, type SQL, sql } from "drizzle-orm";
import { cleanText } from "#drizzle/clean.ts";

/** In a LIKE pattern (with `escape '\'`), `%` and `_` of the text stand for themselves. */
export const likePart = (text: string): string => `%${cleanText(text).replace(/[\\%_]/g, "\\$&")}%`;

/** SQLite's LIKE ignores the case of ASCII letters, Postgres' does not: lower both; other letters match as written. */
export const has = (column: Column, text: string): SQL =>
  sql`(${like(sql`lower(${column})`, likePart(text.toLowerCase()))} escape '\\' or ${like(column, likePart(text))} escape '\\')`;
