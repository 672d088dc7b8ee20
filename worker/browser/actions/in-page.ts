/**
 * Makes a function for the page from its source: Playwright sends functions as text and calls them in the page, but
 * would only evaluate a string. The code is written as text when it belongs to the page's world (its globals, its
 * prototypes) and not to this program's.
 */
export const inPage = <A, R>(source: string): ((arg: A) => R) =>
  new Function(`return (${source})`)() as (arg: A) => R;
