import names from "./names.page.js" with { type: "text" };
import selectors from "./selectors.page.js" with { type: "text" };

/**
 * The functions of the picker, and what `more` adds, for a world of their own beside the page's: they see the document, and
 * nothing that the page's scripts have changed. Put into the same world twice, they are there once.
 */
export const ownSource = (more = ""): string =>
  `(() => {
"use strict";
if (globalThis.flotillaPicker) return;
${names}
${selectors}
globalThis.flotillaPicker = { describe, meantBy, elementAt, boxOf, parentOf };
${more}
})()`;
