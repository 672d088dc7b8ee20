import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { Token } from "markdown-it";
import type { GuideFiles } from "./guide-files.ts";
import { parsePage, plainText } from "./markdown.ts";

/** A line of the table of contents. */
interface Entry {
  /** `start/install.md`. */
  path: string;
  title: string;
  /** One sentence, without a capital at its beginning. */
  summary: string;
}

export interface Chapter {
  title: string;
  slug: string;
  entries: readonly Entry[];
}

/** What `index.md` says: it is the one source of the order of pages. */
export interface Contents {
  title: string;
  summary: string;
  chapters: readonly Chapter[];
}

/** A page with its text. */
export interface Page extends Entry {
  text: string;
  /** Of its chapter. */
  chapter: string;
}

export interface Guide extends Contents {
  files: GuideFiles;
  /** In reading order; those that have a file. */
  pages: readonly Page[];
  /** Changes with any of the files: the navigation of each page tells of all the others. */
  tag: string;
}

/** An entry from the paragraph of its list item: a link, a colon and a sentence. */
function entryOf(paragraph: Token): Entry | null {
  const link = paragraph.children?.find(({ type }) => type === "link_open");
  const text = plainText(paragraph);
  const colon = text.indexOf(": ");
  if (link === undefined || colon === -1) return null;
  return {
    path: posix.normalize(String(link.attrGet("href") ?? "")),
    title: text.slice(0, colon),
    summary: text.slice(colon + 2).trim(),
  };
}

/** Reads `index.md`: a title, a paragraph, and below each second heading a list of pages. */
export function readContents(index: string): Contents {
  const contents = { title: "", summary: "", chapters: [] as (Chapter & { entries: Entry[] })[] };
  const tokens = parsePage(index);
  for (const [i, token] of tokens.entries()) {
    if (token.type !== "inline") continue;
    const before = tokens[i - 1];
    const chapter = contents.chapters.at(-1);
    if (before?.tag === "h1") contents.title = plainText(token);
    else if (before?.tag === "h2")
      contents.chapters.push({
        title: plainText(token),
        slug: String(before.attrGet("id")),
        entries: [],
      });
    else if (chapter === undefined) contents.summary ||= plainText(token);
    else if (tokens[i - 2]?.type === "list_item_open") {
      const entry = entryOf(token);
      if (entry !== null) chapter.entries.push(entry);
    }
  }
  return contents;
}

/** Puts the guide together from its files. */
export function readGuidePages(files: GuideFiles): Guide {
  const contents = readContents(files.get("index.md") ?? "");
  const pages = contents.chapters.flatMap(({ title: chapter, entries }) =>
    entries.flatMap((entry): Page[] => {
      const text = files.get(entry.path);
      return text === undefined ? [] : [{ ...entry, text, chapter }];
    }),
  );
  const tag = createHash("sha256")
    .update(JSON.stringify([...files]))
    .digest("hex")
    .slice(0, 32);
  return { ...contents, files, pages, tag };
}
