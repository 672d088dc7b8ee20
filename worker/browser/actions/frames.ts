import type { Frame, Locator } from "playwright-core";
import type { ActionContext } from "./context.ts";
import { refused } from "./failure.ts";
import type { Pages } from "./pages.ts";
import { type FrameArg, framesOf, locatorIn } from "./selectors.ts";

export type { FrameArg } from "./selectors.ts";

/** The element that an action targets. */
export const target = (
  { pages }: { pages: Pick<Pages, "active"> },
  element: { selector: string; frame?: FrameArg },
): Locator => locatorIn(pages.active(), element);

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
  for (const selector of framesOf(frame)) {
    const timeout = Math.max(1, until - ctx.clock.monotonic());
    const element = await scope.locator(selector).elementHandle({ timeout });
    const inner = await element?.contentFrame();
    if (!inner) throw refused(`${selector} is not an iframe`);
    scope = inner;
  }
  return scope;
}
