import { type Column, like, type SQL, sql } from "drizzle-orm";
import { likePart } from "./like-part.ts";

/** SQLite's LIKE ignores the case of ASCII letters, Postgres' does not: lower both; other letters match as written. */
export const has = (column: Column, text: string): SQL =>
  sql`(${like(sql`lower(${column})`, likePart(text.toLowerCase()))} escape '\\' or ${like(column, likePart(text))} escape '\\')`;
