import { differs, firstOf } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  /** Numbers of the pages that were asked for, in order. */
  pages: number[];
  /** The token of each page that this visitor may ask for. */
  tokens: Map<string, number>;
}

const PER_PAGE = 10;
const ADJECTIVES = ["Silent", "Copper", "Northern", "Borrowed", "Seventh", "Hollow", "Patient"];
const NOUNS = ["Harbour", "Almanac", "Orchard", "Signal", "Ferry", "Winter", "Cartographer"];
/** 47 books, no two of one title. */
const BOOKS = Array.from({ length: 47 }, (_, i) => ({
  title: `The ${ADJECTIVES[i % 7]} ${NOUNS[Math.floor(i / 7)]}`,
  year: 1950 + ((i * 17) % 70),
  rating: ((i * 13) % 41) / 10 + 1,
}));

/** A list whose next page is known only to who has seen the one before it. */
export const paginatedList = task<State>({
  name: "paginated-list",
  goal:
    "Go through all pages of the library's catalogue with the Next button. Return an array of every book in the order " +
    "shown: {title, year, rating}, year and rating as numbers.",
  newState: () => ({ pages: [], tokens: new Map() }),
  answer: ({ state, query }) => {
    const token = query.get("page");
    const page = token === null ? 1 : state.tokens.get(token);
    if (page === undefined) return Response.json({ error: "unknown page" }, { status: 404 });
    state.pages.push(page);
    const books = BOOKS.slice((page - 1) * PER_PAGE, page * PER_PAGE);
    const next = page * PER_PAGE < BOOKS.length ? crypto.randomUUID() : null;
    if (next !== null) state.tokens.set(next, page + 1);
    return Response.json({ books, next, shown: `page ${page} of ${Math.ceil(BOOKS.length / 10)}` });
  },
  verify: ({ result, server_state: { pages } }) =>
    firstOf(
      Array.isArray(result) ? differs("the number of books", result.length, BOOKS.length) : null,
      differs("the result", result, BOOKS),
      differs("the pages that were opened", [...new Set(pages)], [1, 2, 3, 4, 5]),
    ),
});
