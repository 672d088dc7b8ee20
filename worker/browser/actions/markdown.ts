import gfm from "@joplin/turndown-plugin-gfm/lib/turndown-plugin-gfm.cjs.js" with { type: "text" };
import type { Locator } from "playwright-core";
import turndown from "turndown/dist/turndown.js" with { type: "text" };
import { inPage } from "./in-page.ts";

/** Elements that nobody reads. */
const UNREAD = "script,style,noscript,template,iframe,object,svg,canvas";

/**
 * Turndown works inside the page: it needs a DOM, and a large page must cost the worker nothing. Links and image URLs
 * are made absolute in a copy.
 */
const toMarkdown = inPage<unknown, string>(`(root) => {
  const TurndownService = (() => { ${turndown}; return TurndownService; })();
  const { gfm } = (() => { const exports = {}; const module = { exports }; ${gfm}; return module.exports.gfm ? module.exports : exports; })();
  const copy = root.cloneNode(true);
  for (const node of copy.querySelectorAll(${JSON.stringify(UNREAD)})) node.remove();
  for (const name of ["href", "src"])
    for (const node of copy.querySelectorAll("[" + name + "]")) {
      const value = node.getAttribute(name);
      if (URL.canParse(value, document.baseURI)) node.setAttribute(name, new URL(value, document.baseURI).href);
    }
  const service = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });
  service.use(gfm);
  return service.turndown(copy);
}`);

/** An element as GitHub-flavoured Markdown. */
export const markdownOf = (element: Locator, timeout: number): Promise<string> =>
  element.evaluate(toMarkdown, undefined, { timeout });
