/** A URL as a header or a field of a record may hold it: printable ASCII without spaces. */
export const asciiUrl = (url: string): string =>
  url.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent);
