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

/** Finds out where the tab was sent; null when nobody but its page sent it there. */
export type Look = () => Promise<string | null>;

/**
 * Tells when a tab may have been sent somewhere by a person or a program; what its pages lead to themselves is not told.
 * @param is_new the tab was opened while the recorder listened, so that its first address counts: it may be there before
 * anybody listens to the tab
 */
export function watchMoves(
  session: CdpSession,
  is_new: boolean,
  onMove: (look: Look) => void,
): void {
  const seen = new Set<number>();
  let current: number | null = null;
  const look: Look = async () => {
    const { currentIndex, entries } = await session.send("Page.getNavigationHistory", undefined, {
      timeout_ms: LOOK_MS,
    });
    const entry = entries[currentIndex];
    if (!entry || entry.id === current) return null;
    const was_here = seen.has(entry.id);
    for (const { id } of entries) seen.add(id);
    current = entry.id;
    const asked = was_here || BY_A_PERSON.has(entry.transitionType);
    return asked && /^https?:/.test(entry.url) ? entry.url : null;
  };
  if (is_new) onMove(look);
  else void look().catch(() => {});
  session.on("Page.frameNavigated", ({ frame }) => {
    if (frame.parentId === undefined) onMove(look);
  });
}
