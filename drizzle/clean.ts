/**
 * Pages put anything into titles, URLs and log lines; Postgres refuses NUL in text and NUL or half a surrogate pair in
 * jsonb. Both dialects store U+FFFD instead, so a page cannot make a write fail and both give the same answers.
 */
export const cleanText = (value: string): string =>
  (value.includes("\u0000") ? value.replaceAll("\u0000", "\ufffd") : value).toWellFormed();

const ESCAPE = /\\(?:u(0000|d[89a-f][0-9a-f]{2})|.)/g;

/** JSON text of `value` with the same replacements, in keys too. JSON.stringify writes both kinds as `\u` escapes. */
export function cleanJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes("\\u")) return text;
  return text.replace(ESCAPE, (found, bad) => (bad === undefined ? found : "\ufffd"));
}

/** Prepared statements hand null to the encoder of a column, built ones do not; either way it is NULL. */
export const orNull =
  <T, D>(encode: (value: T) => D) =>
  (value: T): D =>
    value === null ? (null as never) : encode(value);
