/** What a `datetime-local` field says, in this browser's time zone, as the API wants it; undefined for none. */
export function isoOf(local: string): string | undefined {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
