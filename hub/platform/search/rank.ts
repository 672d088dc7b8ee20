import type { SearchHit } from "#shared/protocol/schema/search.ts";

/** Of things that match equally well, those that are few come before those that are many. */
const MANY: ReadonlySet<SearchHit["kind"]> = new Set(["job", "session", "task", "run"]);

const wordsOf = (text: string): string[] => text.toLowerCase().split(/[^\p{L}\p{N}]+/u);

/** How well a hit fits what was asked for: its name exactly, its beginning, the words of its title, or something else. */
function fitOf(hit: SearchHit, asked: string, words: readonly string[]): number {
  const names = [hit.id, hit.title].map((name) => name.toLowerCase());
  if (names.includes(asked)) return 4;
  if (names.some((name) => name.startsWith(asked))) return 3;
  const titled = wordsOf(hit.title);
  return words.every((word) => titled.some((one) => one.startsWith(word))) ? 2 : 1;
}

/** Best first (rules/search#hits), each thing once. */
export function rankHits(hits: readonly SearchHit[], q: string, limit: number): SearchHit[] {
  const asked = q.trim().toLowerCase();
  const words = wordsOf(asked).filter((word) => word !== "");
  const seen = new Set<string>();
  const fits = hits
    .filter(({ href }) => !seen.has(href) && seen.add(href))
    .map((hit) => ({ hit, fit: fitOf(hit, asked, words), many: MANY.has(hit.kind) ? 1 : 0 }));
  fits.sort(
    (a, b) => b.fit - a.fit || a.many - b.many || ((a.hit.at ?? "") > (b.hit.at ?? "") ? -1 : 1),
  );
  return fits.slice(0, limit).map(({ hit }) => hit);
}
