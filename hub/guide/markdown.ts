import { posix } from "node:path";
import GithubSlugger from "github-slugger";
import MarkdownIt, { type Token } from "markdown-it";

/** A heading of a page; `slug` is its anchor, as GitHub makes it. */
export interface Heading {
  /** 1 to 6. */
  level: number;
  text: string;
  slug: string;
}

/** A heading and the plain text below it, up to the next heading. */
export interface Section extends Heading {
  body: string;
}

/** Raw HTML is shown as text, and addresses that run code are no links: both are this library's defaults. */
const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });

/** What a reader sees of an inline token: no markup, no address of a link. */
export const plainText = (token: Token | undefined): string =>
  (token?.children ?? [])
    .map(({ type, content }) => (type.endsWith("break") ? " " : content))
    .join("");

/** The anchor of an opened heading. */
const slugOf = (token: Token | undefined): string => String(token?.attrGet("id") ?? "");

/** Gives every heading its anchor. */
markdown.core.ruler.push("heading_ids", ({ tokens }) => {
  const slugger = new GithubSlugger();
  for (const [i, token] of tokens.entries())
    if (token.type === "heading_open") token.attrSet("id", slugger.slug(plainText(tokens[i + 1])));
});

/**
 * Where a link of the page at `path` leads to in the browser. Links between pages are relative files in the tree and
 * addresses below `/guide` here; every other link stays as it is.
 */
export function guideAddress(href: string, path: string): string {
  const [file = "", anchor] = href.split("#", 2);
  if (!file.endsWith(".md") || /^([a-z][a-z0-9+.-]*:|\/)/i.test(file)) return href;
  const target = posix.join(posix.dirname(path), file);
  return addressOf(target) + (anchor === undefined ? "" : `#${anchor}`);
}

/** The address of a page's file: `/guide/start/install` of `start/install.md`, `/guide` of `index.md`. */
export const addressOf = (path: string): string =>
  path === "index.md" ? "/guide" : `/guide/${path.replace(/\.md$/, "")}`;

const { escapeHtml } = markdown.utils;
const { rules } = markdown.renderer;

rules.heading_close = (tokens, i) => {
  const tag = tokens[i]?.tag ?? "";
  if (tag === "h1") return "</h1>\n";
  const slug = escapeHtml(slugOf(tokens[i - 2]));
  const label = escapeHtml(`Link to “${plainText(tokens[i - 1])}”`);
  return ` <a class="anchor" href="#${slug}" aria-label="${label}">#</a></${tag}>\n`;
};

rules.link_open = (tokens, i, options, env, self) => {
  const token = tokens[i];
  const href = String(token?.attrGet("href") ?? "");
  token?.attrSet("href", guideAddress(href, String(env?.path ?? "")));
  // Another site is not told which hub it was read on.
  if (/^[a-z][a-z0-9+.-]*:/i.test(href)) token?.attrSet("rel", "noreferrer");
  return self.renderToken(tokens, i, options);
};

// What is wider than the page scrolls, also with the keyboard.
rules.table_open = () => '<div class="wide" tabindex="0" role="group" aria-label="Table"><table>\n';
rules.table_close = () => "</table></div>\n";
rules.fence = (tokens, i) => {
  const { info, content } = tokens[i] ?? { info: "", content: "" };
  const [language = "text"] = info.trim().split(/\s+/);
  const name = escapeHtml(language);
  return `<div class="code" data-language="${name}"><pre tabindex="0"><code>${escapeHtml(content)}</code></pre></div>\n`;
};

/** The page as HTML. `path` is that of its file: `start/install.md`. */
export const renderPage = (text: string, path: string): string => markdown.render(text, { path });

/** The tokens of a page, for who looks into one: headings have an attribute `id`. */
export const parsePage = (text: string): Token[] => markdown.parse(text, {});

/** The headings of a page, each with the text below it. What stands before the first heading is left out. */
export function sectionsOf(text: string): Section[] {
  const sections: Section[] = [];
  const tokens = parsePage(text);
  for (const [i, token] of tokens.entries()) {
    if (token.type === "heading_open")
      sections.push({
        level: Number(token.tag.slice(1)),
        text: plainText(tokens[i + 1]),
        slug: slugOf(token),
        body: "",
      });
    const section = sections.at(-1);
    if (section === undefined || tokens[i - 1]?.type === "heading_open") continue;
    const more = token.type === "inline" ? plainText(token) : token.content;
    if (more !== "") section.body += `${more.trim()}\n`;
  }
  return sections;
}
