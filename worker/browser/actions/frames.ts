import type { Frame, FrameLocator, Locator, Page } from "playwright-core";
import type { ActionContext } from "./context.ts";
import { refused } from "./failure.ts";

/** Selectors of iframes, from outside in. */
export type FrameArg = string | string[] | undefined;

const selectorsOf = (frame: FrameArg): string[] => (frame === undefined ? [] : [frame].flat());

/** The element that an action targets; Playwright looks up its frames again at every try. */
export function target(
  { pages }: Pick<ActionContext, "pages">,
  { selector, frame }: { selector: string; frame?: FrameArg },
): Locator {
  let scope: Page | FrameLocator = pages.active();
  for (const one of selectorsOf(frame)) scope = scope.frameLocator(one);
  return scope.locator(selector);
}

/**
 * The frame itself, as it is now; waits for its iframe. @throws ActionFailure page when the element has no document.
 */
export async function frameOf(
  ctx: ActionContext,
  frame: FrameArg,
  timeout_ms = ctx.timeout_ms,
): Promise<Frame> {
  const until = ctx.clock.monotonic() + timeout_ms;
  let scope = ctx.pages.active().mainFrame();
  for (const selector of selectorsOf(frame)) {
    const timeout = Math.max(1, until - ctx.clock.monotonic());
    const element = await scope.locator(selector).elementHandle({ timeout });
    const inner = await element?.contentFrame();
    if (!inner) throw refused(`${selector} is not an iframe`);
    scope = inner;
  }
  return scope;
}
