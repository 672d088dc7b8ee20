/**
 * Whether a text is like the pattern, in which a star stands for any characters; letter case does not count. Each part
 * between two stars is searched for once, so the time does not grow with the number of stars.
 */
export function isLike(pattern: string, text: string): boolean {
  const parts = pattern.toLowerCase().split("*");
  const lower = text.toLowerCase();
  const [head = "", ...rest] = parts;
  const tail = rest.pop();
  if (tail === undefined) return lower === head;
  if (!lower.startsWith(head) || lower.length < head.length + tail.length) return false;
  if (!lower.endsWith(tail)) return false;
  const end = lower.length - tail.length;
  let at = head.length;
  for (const part of rest) {
    const found = lower.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
