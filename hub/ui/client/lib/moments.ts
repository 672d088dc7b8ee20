/** A moment to the minute as `<input type="datetime-local">` has it, in this browser's time zone; nothing for none. */
export function momentText(moment: string | number): string {
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** What such a field says as the address and the API have it; nothing for what is no moment, such as the year 20266. */
export function momentOf(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
