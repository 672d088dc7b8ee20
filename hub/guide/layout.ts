import { html, raw } from "hono/html";
import type { Guide, Page } from "./contents.ts";
import { MAX_QUERY } from "./guide-search.ts";
import { addressOf, type Heading } from "./markdown.ts";

type Html = ReturnType<typeof html>;

/** Everything of this origin, and nothing in the page itself: no script, no style, no frame. */
export const GUIDE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
].join("; ");

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M8 1v10M8 2l5 7H8M8 4 4 9h4M1 11h14l-2 4H3z' fill='%231c7ed6'/%3E%3C/svg%3E";

/** What stands inside of every page of the guide. */
export interface View {
  /** Of the browser's tab. */
  title: string;
  /** Of the page that is shown, for the navigation. */
  path?: string;
  /** Where the same is found as text. */
  text_url?: string;
  /** For the table of contents beside the text. */
  headings?: readonly Heading[];
  query?: string;
  main: Html;
}

const link = (
  guide: Guide,
  at: string | undefined,
  { path, title }: Pick<Page, "path" | "title">,
) =>
  guide.files.has(path)
    ? html`<li><a href="${addressOf(path)}"${raw(path === at ? ' aria-current="page"' : "")}>${title}</a></li>`
    : "";

const navigation = (guide: Guide, at: string | undefined) => html`
<nav class="pages" aria-label="Pages of the guide">
  <details>
    <summary>All pages</summary>
    ${guide.chapters
      .filter(({ entries }) => entries.some(({ path }) => guide.files.has(path)))
      .map(
        ({ title, entries }) => html`<p class="chapter">${title}</p>
    <ul>${entries.map((entry) => link(guide, at, entry))}</ul>`,
      )}
  </details>
</nav>`;

/** Deeper headings would make the list longer than what it is for. */
const DEEPEST = 3;

const onThisPage = (headings: readonly Heading[]) => {
  const listed = headings.filter(({ level }) => level > 1 && level <= DEEPEST);
  if (listed.length < 2) return "";
  return html`<nav class="toc" aria-label="On this page">
  <details>
    <summary>On this page</summary>
    <ul>${listed.map(({ level, slug, text }) => html`<li class="level-${level}"><a href="#${slug}">${text}</a></li>`)}</ul>
  </details>
</nav>`;
};

const searchForm = (
  query: string,
) => html`<form class="search" role="search" action="/guide/search">
  <input type="search" name="q" value="${query}" maxlength="${MAX_QUERY}" placeholder="Search the guide" aria-label="Search the guide" aria-keyshortcuts="/" autocomplete="off" spellcheck="false">
  <kbd aria-hidden="true">/</kbd>
  <div class="found" hidden></div>
</form>`;

/** A whole page. */
export const guidePage = (
  guide: Guide,
  { title, path, text_url, headings = [], query = "", main }: View,
) => html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title} · Flotilla</title>
  <link rel="icon" href="${ICON}">
  <link rel="stylesheet" href="/guide/assets/guide.css">
  ${text_url === undefined ? "" : html`<link rel="alternate" type="text/markdown" href="${text_url}">`}
  <script src="/guide/assets/colors.js"></script>
  <script src="/guide/assets/guide.js" defer></script>
</head>
<body>
<a class="skip" href="#main">To the text</a>
<header>
  <a class="name" href="/guide">Flotilla <span>guide</span></a>
  ${searchForm(query)}
  <ul class="elsewhere">
    <li><a href="/">App</a></li>
    <li><a href="/docs">API</a></li>
  </ul>
</header>
<div class="columns${headings.length > 0 ? "" : " plain"}">
${navigation(guide, path)}
${onThisPage(headings)}
<main id="main" tabindex="-1">
${main}
</main>
</div>
</body>
</html>
`;
