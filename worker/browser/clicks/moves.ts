import type { CdpSession } from "../cdp/connection.ts";

/** What the browser's own bar, menus and programs lead to, and no page. */
const BY_A_PERSON = new Set([
  "typed",
  "address_bar",
  "auto_bookmark",
  "generated",
  "keyword",
  "keyword_generated",
]);
const LOOK_MS = 2_000;

/** The addresses that a tab was sent to since the last look, oldest first. @throws when the tab does not answer */
export type LookAtMoves = () => Promise<string[]>;

/**
 * How to look at the addresses that a tab was sent to by a person or a program; what its pages lead to themselves is none
 * of them.
 * @param is_new the tab was opened while the recorder listened, so that its first address counts: it may be there before
 * anybody listens to the tab
 */
export function createMoves(session: CdpSession, is_new: boolean): LookAtMoves {
  const seen = new Set<number>();
  let current: number | null = null;
  return async () => {
    const asked = session.send("Page.getNavigationHistory", undefined, { timeout_ms: LOOK_MS });
    const { currentIndex, entries } = await asked;
    const entry = entries[currentIndex];
    if (!entry || entry.id === current) return [];
    const was_here = seen.has(entry.id);
    // The page may have led on before this look.
    const added = entries
      .slice(0, currentIndex + 1)
      .filter(({ id, transitionType }) => !seen.has(id) && BY_A_PERSON.has(transitionType));
    const is_start = current === null && !is_new;
    current = entry.id;
    for (const { id } of entries) seen.add(id);
    if (is_start) return [];
    return (was_here ? [entry] : added).map(({ url }) => url).filter((url) => /^https?:/.test(url));
  };
}
