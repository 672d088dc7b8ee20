import MiniSearch, { type SearchOptions, type SearchResult } from "minisearch";
import type { Guide, Page } from "./contents.ts";
import { addressOf, type Section, sectionsOf } from "./markdown.ts";

/** Characters of a query, and results of one. */
export const MAX_QUERY = 100;
const MAX_RESULTS = 20;
/** Characters of an excerpt before and after the word that was found. */
const BEFORE = 60;
const AFTER = 140;

export interface Found {
  /** Of the heading. */
  title: string;
  /** Of its page. */
  page: string;
  /** Path and anchor at this server. */
  url: string;
  excerpt: string;
  /** The words of the guide that the query found. */
  terms: string[];
}

interface Place {
  page: Page;
  section: Section;
}

/** Words are letters and digits: `idle_seconds` is two, and so is `limit=1`. */
const words = (text: string): string[] => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/** Shorter words find themselves alone: half of all words begin with one of six letters. */
const LEAST_PREFIX = 2;
/** Letters that may differ: two where letters have changed places, which is what people mistype most. */
const fuzzy = ({ length }: string) => (length > 5 ? 2 : length > 3 && 1);

/** One after the other until something is found: all words, all of them misspelt, any of them. */
const TRIES: readonly SearchOptions[] = [
  { combineWith: "AND" },
  { combineWith: "AND", fuzzy },
  { combineWith: "OR", fuzzy },
];

export interface GuideSearch {
  find(query: string): Found[];
}

/** The text around the first of the words, whole words at both ends. */
function excerptOf(body: string, terms: readonly string[]): string {
  const text = body.replace(/\s+/g, " ").trim();
  const small = text.toLowerCase();
  const places = terms.map((term) => small.indexOf(term)).filter((at) => at !== -1);
  const at = places.length === 0 ? 0 : Math.min(...places);
  const start = at <= BEFORE ? 0 : text.indexOf(" ", at - BEFORE) + 1;
  const cut = text.length - at <= AFTER ? text.length : text.lastIndexOf(" ", at + AFTER);
  const end = cut > at ? cut : at + AFTER;
  return `${start > 0 ? "… " : ""}${text.slice(start, end)}${end < text.length ? " …" : ""}`;
}

/**
 * Searches every heading of the guide and the text below it. A word of the query finds those that begin with it; where nothing
 * has all words, a long one finds also those that differ by a letter or two. A heading counts for more than text.
 */
export async function createSearch({ pages }: Guide): Promise<GuideSearch> {
  const places: Place[] = [];
  const index = new MiniSearch<{ id: number; heading: string; page: string; body: string }>({
    fields: ["heading", "page", "body"],
    tokenize: words,
    searchOptions: {
      boost: { heading: 4, page: 2 },
      prefix: ({ length }) => length >= LEAST_PREFIX,
    },
  });
  for (const page of pages) {
    for (const section of sectionsOf(page.text)) {
      const id = places.push({ page, section }) - 1;
      index.add({ id, heading: section.text, page: page.title, body: section.body });
    }
    // A page takes milliseconds, and the server has others to answer.
    await Bun.sleep(0);
  }
  return {
    find: (query) => {
      const results = TRIES.reduce<SearchResult[]>(
        (found, options) => (found.length > 0 ? found : index.search(query, options)),
        [],
      );
      return results.slice(0, MAX_RESULTS).flatMap(({ id, terms }) => {
        const place = places[id as number];
        if (place === undefined) return [];
        const { page, section } = place;
        const anchor = section.level === 1 ? "" : `#${section.slug}`;
        return {
          title: section.text,
          page: page.title,
          url: addressOf(page.path) + anchor,
          excerpt: excerptOf(section.body, terms),
          terms,
        };
      });
    },
  };
}
