/** Quotes a word so a shell takes it as one word, whatever is in it. */
export const quoteWord = (word: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
