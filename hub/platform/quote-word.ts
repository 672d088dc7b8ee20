/** A word as a shell takes it for that one word, whatever is in it. */
export const quoteWord = (word: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
