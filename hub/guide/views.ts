import { html, raw } from "hono/html";
import type { Chapter, Guide, Page } from "./contents.ts";
import type { Found } from "./guide-search.ts";
import { guidePage } from "./layout.ts";
import { addressOf, renderPage, sectionsOf } from "./markdown.ts";

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const neighbour = (page: Page | undefined, rel: "prev" | "next", label: string) =>
  page === undefined
    ? ""
    : html`<a class="${rel}" rel="${rel}" href="${addressOf(page.path)}"><span>${label}</span> ${page.title}</a>`;

/** A page of the guide, with the pages before and after it. */
export function pageView(guide: Guide, page: Page) {
  const at = guide.pages.indexOf(page);
  const text_url = `/guide/${page.path}`;
  const main = html`<article>
<p class="above"><a href="/guide#${guide.chapters.find(({ title }) => title === page.chapter)?.slug ?? ""}">${page.chapter}</a></p>
${raw(renderPage(page.text, page.path))}
</article>
<nav class="neighbours" aria-label="Pages before and after this one">
${neighbour(guide.pages[at - 1], "prev", "Previous")}
${neighbour(guide.pages[at + 1], "next", "Next")}
</nav>
<p class="as-text"><a href="${text_url}">This page as Markdown</a></p>`;
  const { title, path, text } = page;
  return guidePage(guide, { title, path, text_url, headings: sectionsOf(text), main });
}

const chapterView = (guide: Guide, { title, slug, entries }: Chapter) => {
  const there = entries.filter(({ path }) => guide.files.has(path));
  if (there.length === 0) return "";
  return html`<section aria-labelledby="${slug}">
<h2 id="${slug}">${title}</h2>
<ul class="cards">${there.map(
    ({ path, title: name, summary }) =>
      html`<li><a href="${addressOf(path)}">${name}</a><p>${capital(summary)}</p></li>`,
  )}</ul>
</section>`;
};

/** The table of contents. */
export const contentsView = (guide: Guide) =>
  guidePage(guide, {
    title: guide.title,
    path: "index.md",
    text_url: "/guide/index.md",
    main: html`<article class="contents">
<h1>${guide.title}</h1>
<p class="lead">${guide.summary}</p>
${guide.chapters.map((chapter) => chapterView(guide, chapter))}
</article>
<p class="as-text">For programs: <a href="/llms.txt">/llms.txt</a> lists every page as Markdown, <a href="/openapi.json">/openapi.json</a> describes the API.</p>`,
  });

/** The text with the words that were searched for marked. */
function marked(text: string, terms: readonly string[]) {
  const known = new Set(terms);
  return text
    .split(/([^\p{L}\p{N}]+)/u)
    .map((word) => (known.has(word.toLowerCase()) ? html`<mark>${word}</mark>` : word));
}

const foundView = ({ title, page, url, excerpt, terms }: Found) => html`<li>
<a href="${url}">${title}</a>${title === page ? "" : html` <span>${page}</span>`}
<p>${marked(excerpt, terms)}</p>
</li>`;

function resultsView(query: string, results: readonly Found[]) {
  if (query === "")
    return html`<p>Type a word of what you look for: a heading, an option, a state, an error message.</p>`;
  if (results.length === 0)
    return html`<p>No heading and no text of the guide fits <strong>${query}</strong>. The <a href="/guide">table of contents</a> lists every page.</p>`;
  return html`<ol class="results">${results.map(foundView)}</ol>`;
}

export const searchView = (guide: Guide, query: string, results: readonly Found[]) =>
  guidePage(guide, {
    title: query === "" ? "Search" : `Search: ${query}`,
    query,
    main: html`<article><h1>Search</h1>${resultsView(query, results)}</article>`,
  });

/** What is shown at an address that no page has. */
export const missingView = (guide: Guide, wanted: string, near: readonly Found[]) =>
  guidePage(guide, {
    title: "No such page",
    main: html`<article>
<h1>No such page</h1>
<p>The guide has no page <code>${wanted}</code>. The <a href="/guide">table of contents</a> lists every page.</p>
${near.length === 0 ? "" : html`<p>These come close:</p><ol class="results">${near.map(foundView)}</ol>`}
</article>`,
  });
