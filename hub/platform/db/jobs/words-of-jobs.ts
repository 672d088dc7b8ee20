import { and, type SQL, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";
import { likePart } from "../like.ts";
import { inStatus } from "./which.ts";

/** Jobs that one search considers: the newest that ended with all its words, and the newest that are still open. */
const MOST_ENDED = 10_000;
const MOST_OPEN = 1_000;

const MAX_WORDS = 8;
const MAX_WORD_LENGTH = 64;

/** The words of a search, as the index has them: letters and digits, in lower case. */
export const searchWords = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .slice(0, MAX_WORDS)
    .map((word) => [...word].slice(0, MAX_WORD_LENGTH).join(""));

/** They hold letters and digits only, so they need no quoting in either language of full-text searches. */
const matchOf = ({ dialect }: Conn, words: readonly string[]): string =>
  dialect === "sqlite"
    ? words.map((word) => `"${word}"*`).join(" AND ")
    : words.map((word) => `${word}:*`).join(" & ");

/**
 * Ids of the newest ended jobs whose words begin with all of these. Postgres is asked for an order that only the words' own
 * index leads to: in that of the ids it might go through all jobs for a word that few have.
 */
const endedWith = (conn: Conn, words: readonly string[], limit: number): SQL => {
  const match = matchOf(conn, words);
  return conn.dialect === "sqlite"
    ? sql`select job_id from job_texts where text_id in (select rowid from job_texts_index where job_texts_index match ${match} order by rowid desc limit ${limit})`
    : sql`select job_id from (select job_id from job_texts where vector @@ to_tsquery('simple', ${match}) order by text_id + 0 desc limit ${limit}) as ended`;
};

/** Ids of the newest open jobs whose URL or labels have all of these; few are open at a time. */
const openWith = ({ t: { jobs } }: Conn, words: readonly string[]): SQL => {
  const text = sql`lower(url || ' ' || coalesce(cast(labels as text), ''))`;
  const has = and(...words.map((word) => sql`${text} like ${likePart(word)} escape '\\'`));
  const open = inStatus(jobs, "queued", "running");
  return sql`select job_id from (select job_id, url, labels from ${jobs} where ${open} order by created_at desc, job_id desc limit ${MOST_OPEN}) as open_jobs where ${has}`;
};

/** Ids of the jobs that have words beginning with every word of the text (rules/search#words), as a subquery. */
export function jobsWithWords(conn: Conn, text: string, limit = MOST_ENDED): SQL {
  const words = searchWords(text);
  // A search without a word, such as one for punctuation, finds nothing.
  if (words.length === 0) return sql`select job_id from ${conn.t.jobs} where 1 = 0`;
  return sql`${endedWith(conn, words, limit)} union all ${openWith(conn, words)}`;
}
