import type { FrameLocator, Locator, Page } from "playwright-core";

const BY_LABEL = /(^|>>\s*)label=("(?:[^"\\]|\\.)*")/g;

const BY_REF = /^\s*ref=((?:f\d+)?e\d+)(?=\s*(?:>>|$))/;

/** The reference that a selector begins with (rules/session-actions#references); null when it has none. */
export const refIn = (selector: string): string | null => BY_REF.exec(selector)?.[1] ?? null;

/**
 * A selector as Playwright understands it: `label="Email"` is the exact text of a field's label
 * (rules/session-actions#selectors), for which Playwright has a method and no selector that it promises to keep, and
 * `ref=e5` what a snapshot has called so.
 */
export const asPlaywright = (selector: string): string =>
  selector.replace(BY_LABEL, "$1internal:label=$2s").replace(BY_REF, "aria-ref=$1");

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
