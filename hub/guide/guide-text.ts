import { readGuidePages } from "./contents.ts";
import { guideFiles } from "./guide-files.ts";

/**
 * What `flotilla guide` prints: without a name every page with its summary, with one the Markdown of that page.
 * @param name a page as the list names it: `start/install`
 * @returns null when the guide has no such page
 */
export async function guideText(name: string | undefined, address: string): Promise<string | null> {
  const { files, title, chapters, pages } = readGuidePages(await guideFiles());
  if (name !== undefined) return files.get(`${name.replace(/\.md$/, "")}.md`) ?? null;
  const width = Math.max(...pages.map(({ path }) => path.length));
  const lists = chapters.flatMap(({ title: chapter }) => {
    const lines = pages
      .filter((page) => page.chapter === chapter)
      .map(({ path, summary }) => `  ${path.replace(/\.md$/, "").padEnd(width)}${summary}`);
    return lines.length === 0 ? [] : [`${chapter}\n${lines.join("\n")}`];
  });
  return `${[`${title}: ${address}/guide`, ...lists, "One page: flotilla guide PAGE"].join("\n\n")}\n`;
}
