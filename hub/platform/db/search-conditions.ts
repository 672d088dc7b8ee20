import { and, type SQL, sql } from "drizzle-orm";
import { cleanText } from "#drizzle/clean.ts";
import { likePart } from "./like.ts";

/** Whether the text has every word, in any order and case. */
export const hasWords = (text: SQL, words: readonly string[]): SQL | undefined =>
  and(...words.map((word) => sql`lower(${text}) like ${likePart(word)} escape '\\'`));

/** Exactly, which no pattern of LIKE says on both dialects. */
export const startsWith = (column: SQL, text: string): SQL =>
  sql`substr(${column}, 1, ${[...cleanText(text)].length}) = ${cleanText(text)}`;
