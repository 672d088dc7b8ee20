import type { Ignored } from "../jobs/parts.ts";

/** Lines that are judged before the hub serves others. */
const AT_ONCE = 500;

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

/** What does not count for a watch (rules/watches#what-does-not-count). */
export function ignoredBy(watch: { ignore_text: string[]; ignore_assets: string[] }): Ignored {
  const { ignore_text, ignore_assets } = watch;
  return {
    lines: async (lines) => {
      if (ignore_text.length === 0) return lines;
      const kept: string[] = [];
      for (const [n, line] of lines.entries()) {
        if (n % AT_ONCE === AT_ONCE - 1) await new Promise<void>((served) => setImmediate(served));
        if (!ignore_text.some((pattern) => isLike(pattern, line))) kept.push(line);
      }
      return kept;
    },
    asset: (url) => ignore_assets.some((pattern) => isLike(pattern, url)),
  };
}
