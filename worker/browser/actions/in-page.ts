/**
 * A function for the page, from its source: Playwright sends functions as text and calls them there, and a string it would
 * only evaluate. Written as text where the code is the page's world (its globals, its prototypes) and not this program's.
 */
export const inPage = <A, R>(source: string): ((arg: A) => R) =>
  new Function(`return (${source})`)() as (arg: A) => R;
