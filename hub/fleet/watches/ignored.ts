import { isLike } from "#shared/kit/is-like.ts";
import type { Ignored } from "../jobs/parts.ts";

/** Lines that are judged before the hub serves others. */
const AT_ONCE = 500;

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
