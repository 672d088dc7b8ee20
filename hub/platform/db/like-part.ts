import { cleanText } from "#drizzle/clean.ts";

const escaped = (text: string): string => cleanText(text).replace(/[\\%_]/g, "\\$&");

/** In a LIKE pattern (with `escape '\'`), `%` and `_` of the text stand for themselves. */
export const likePart = (text: string): string => `%${escaped(text)}%`;
