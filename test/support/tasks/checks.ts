const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 400) ?? "nothing";

/** A sentence when the two are not the same JSON, whatever the order of their keys. */
export const differs = (what: string, found: unknown, wanted: unknown): string | null =>
  Bun.deepEquals(found, wanted) ? null : `${what} is ${shown(found)}, not ${shown(wanted)}`;

/** The first thing that is wrong. */
export const firstOf = (...problems: (string | null)[]): string | null =>
  problems.find((problem) => problem !== null) ?? null;

/** A number that a person would take for the same text every time: no two runs of one script differ. */
export const referenceNumber = (prefix: string, value: unknown): string =>
  `${prefix}-${Bun.hash.crc32(JSON.stringify(value)).toString(36).toUpperCase().padStart(7, "0")}`;
