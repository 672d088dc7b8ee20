import type { FrameLocator, Locator, Page } from "playwright-core";

const BY_LABEL = /(^|>>\s*)label=("(?:[^"\\]|\\.)*")/g;

/**
 * A selector as Playwright understands it: `label="Email"` is the exact text of a field's label
 * (rules/session-actions#selectors), for which Playwright has a method and no selector that it promises to keep.
 */
export const asPlaywright = (selector: string): string =>
  selector.replace(BY_LABEL, "$1internal:label=$2s");

/** Selectors of iframes, from outside in. */
export type FrameArg = string | string[] | undefined;

export const framesOf = (frame: FrameArg): string[] =>
  (frame === undefined ? [] : [frame].flat()).map(asPlaywright);

/** Playwright looks its frames up again at every try. */
export function locatorIn(
  page: Page,
  { selector, frame }: { selector: string; frame?: FrameArg },
): Locator {
  let scope: Page | FrameLocator = page;
  for (const one of framesOf(frame)) scope = scope.frameLocator(one);
  return scope.locator(asPlaywright(selector));
}
