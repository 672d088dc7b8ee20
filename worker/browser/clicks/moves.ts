import { systemClock } from "#shared/kit/clock.ts";
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
/** A page tells of its new document before the browser has written it into the tab's history. */
const TRIES = 20;
const TRY_MS = 25;

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
  const entryNow = async () => {
    const { currentIndex, entries } = await session.send("Page.getNavigationHistory", undefined, {
      timeout_ms: LOOK_MS,
    });
    return { entry: entries[currentIndex], entries };
  };
  /** @param document its address; null when nobody told of a new one */
  const look = async (document: string | null): Promise<string | null> => {
    let { entry, entries } = await entryNow();
    const isOld = () => entry?.id === current && document !== null && entry.url !== document;
    for (let i = 0; i < TRIES && isOld(); i += 1) {
      await systemClock.sleep(TRY_MS);
      ({ entry, entries } = await entryNow());
    }
    if (!entry || entry.id === current) return null;
    const was_here = seen.has(entry.id);
    for (const { id } of entries) seen.add(id);
    current = entry.id;
    const asked = was_here || BY_A_PERSON.has(entry.transitionType);
    return asked && /^https?:/.test(entry.url) ? entry.url : null;
  };
  if (is_new) onMove(() => look(null));
  else void look(null).catch(() => {});
  session.on("Page.frameNavigated", ({ frame }) => {
    if (frame.parentId !== undefined) return;
    // A page that could not be opened has another address than its entry.
    const { url, urlFragment = "", unreachableUrl } = frame;
    onMove(() => look(unreachableUrl ?? url + urlFragment));
  });
}
