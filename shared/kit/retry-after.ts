/** How long a Retry-After header asks to wait, in ms; null when it cannot be understood. */
export function retryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined || header.trim() === "") return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds < 0 ? null : Math.ceil(seconds * 1_000);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
