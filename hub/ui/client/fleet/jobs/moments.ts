/** Minutes as `<input type="datetime-local">` reads and writes them, in this browser's time zone. */
export function momentText(iso: string): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return "";
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** As the address and the API have it; nothing for what is no moment. */
export function momentOf(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
