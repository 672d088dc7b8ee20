import { ONE_SHOT } from "#shared/protocol/limits.ts";
import {
  type OneShotAnswers,
  type OneShotCalls,
  PageMetadata,
  ScrapedElement,
} from "#shared/protocol/schema/one-shot.ts";
import { refused } from "../actions/failure.ts";
import { inPage } from "../actions/in-page.ts";
import { asPlaywright } from "../actions/selectors.ts";
import { takePicture } from "./picture.ts";
import { attempt, placeOf, type Shot } from "./shot.ts";

type Call = OneShotCalls["scrape"];
type Format = Call["formats"][number];
type Answer = Omit<OneShotAnswers["scrape"], "status">;

/** As long as a page that loads needs to show what it has, where the call says nothing. */
const ELEMENT_S = 10;

/** Reads elements until their text and HTML have so many characters; what is longer is cut. */
const READ = inPage<Element[], ScrapedElement[]>(`(nodes, most) => {
  let left = most;
  const cut = (text) => {
    const part = String(text ?? "").slice(0, Math.max(0, left));
    left -= part.length;
    return part;
  };
  const { getAttributeNames: names, getAttribute: value } = Element.prototype;
  return nodes.slice(0, ${ONE_SHOT.scrape_elements}).map((node) => {
    const { width, height, top, left: x } = node.getBoundingClientRect();
    return {
      text: cut(node.innerText ?? node.textContent),
      html: cut(node.innerHTML),
      // A form has its fields as properties, which hide its own of the same name.
      attributes: names.call(node).map((name) => ({
        name: cut(name),
        value: cut(value.call(node, name)),
      })),
      width,
      height,
      top: top + scrollY,
      left: x + scrollX,
    };
  });
}`) as unknown as (nodes: Element[], most: number) => ScrapedElement[];

const METADATA = inPage<void, PageMetadata>(`() => {
  const short = (text) => (typeof text === "string" && text !== "" ? text.slice(0, 2000) : null);
  const meta = (...names) => {
    for (const name of names) {
      const found = document.querySelector('meta[name="' + name + '"], meta[property="' + name + '"]');
      if (found?.content) return short(found.content);
    }
    return null;
  };
  return {
    // A picture or form named "title" takes its place.
    title: short(document.title) ?? short(document.querySelector("title")?.textContent) ?? "",
    description: meta("description", "og:description", "twitter:description"),
    language: short(document.documentElement.lang),
    canonical: short(document.querySelector('link[rel="canonical"]')?.href),
    author: meta("author", "article:author"),
    published: meta("article:published_time", "date", "dcterms.date"),
    image: meta("og:image", "twitter:image"),
  };
}`);

const Elements = ScrapedElement.array();

/** What the page's own world has made of it: it may have replaced what text and lists can do. @throws ActionFailure page */
function fromPage<T>(
  schema: { safeParse(value: unknown): { data?: T | undefined } },
  value: unknown,
): T {
  const { data } = schema.safeParse(value);
  if (data === undefined)
    throw refused("the page answers something else than what it was asked for");
  return data;
}

async function readElements(
  shot: Shot,
  { selector, timeout_s }: Call["elements"][number],
  most: number,
): Promise<ScrapedElement[]> {
  const { page, act, left } = shot;
  const timeout = left(timeout_s ?? ELEMENT_S);
  await attempt(shot, act("wait", { selector, state: "attached" }, timeout));
  const found: unknown = await page.locator(asPlaywright(selector)).evaluateAll(READ, most);
  return fromPage(Elements, found);
}

const sizeOf = (elements: readonly ScrapedElement[]): number =>
  elements.reduce(
    (sum, { text, html, attributes }) =>
      sum +
      text.length +
      html.length +
      attributes.reduce((n, { name, value }) => n + name.length + value.length, 0),
    0,
  );

/** What POST /scrape answers (rules/one-shot-calls#scrape). */
export async function scrape(shot: Shot, { elements, formats }: Call): Promise<Answer> {
  const { page, act } = shot;
  const wanted = new Set<Format>(
    formats.length === 0 && elements.length === 0 ? ["html"] : formats,
  );
  const answer: Answer = {
    url: "",
    title: "",
    metadata: fromPage(PageMetadata, await page.evaluate(METADATA)),
  };
  if (elements.length > 0) answer.data = [];
  let room: number = ONE_SHOT.scrape_chars;
  for (const element of elements) {
    const results = await readElements(shot, element, room);
    room -= sizeOf(results);
    answer.data?.push({ selector: element.selector, results });
  }
  if (room <= 0)
    throw refused(`the elements have more than ${ONE_SHOT.scrape_chars / 1024 / 1024} MB of text`);
  const content: NonNullable<Answer["content"]> = {};
  if (wanted.has("html")) content.html = await act("content", {});
  if (wanted.has("text")) content.text = await act("text", {});
  if (wanted.has("markdown")) content.markdown = await act("markdown", {});
  if (Object.keys(content).length > 0) answer.content = content;
  if (wanted.has("links")) answer.links = await act("links", {});
  if (wanted.has("screenshot"))
    answer.screenshot = await takePicture(shot, { format: "png", full_page: false });
  if (wanted.has("pdf"))
    answer.pdf = await act("pdf", { format: "A4", landscape: false, print_background: true });
  return Object.assign(answer, await placeOf(shot));
}
