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

/** Tells the addresses that a tab was sent to by a person or a program; what its pages lead to themselves is not told. */
export function watchMoves(session: CdpSession, onMove: (url: string) => void): void {
  const seen = new Set<number>();
  let current: number | null = null;
  const look = async (tells: boolean): Promise<void> => {
    const { currentIndex, entries } = await session.send("Page.getNavigationHistory");
    const entry = entries[currentIndex];
    if (!entry || entry.id === current) return;
    const was_here = seen.has(entry.id);
    for (const { id } of entries) seen.add(id);
    current = entry.id;
    const asked = was_here || BY_A_PERSON.has(entry.transitionType);
    if (tells && asked && /^https?:/.test(entry.url)) onMove(entry.url);
  };
  const quietly = (tells: boolean) => void look(tells).catch(() => {});
  quietly(false);
  session.on("Page.frameNavigated", ({ frame }) => {
    if (frame.parentId === undefined) quietly(true);
  });
}
