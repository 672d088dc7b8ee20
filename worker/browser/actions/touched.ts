import { withDeadline } from "#shared/kit/clock.ts";
import { Box } from "#shared/recording/events.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";
import { type FrameArg, target } from "./frames.ts";
import { inPage } from "./in-page.ts";
import type { Pages } from "./pages.ts";
import type { StepElement } from "./recipe.ts";

/** A session, or a job's page, whose actions are recorded. */
export interface Touching {
  pages(): Promise<Pick<Pages, "active">>;
  browser(): LaneBrowser | null;
  activeTarget(): string | null;
  /** How large the active page is, for pages that must not notice the question; else the page itself is asked. */
  innerSize?(): Promise<InnerSize>;
}

/** What `INNER_SIZE` answers. */
export interface InnerSize {
  width: number;
  height: number;
}

const LOOK_MS = 5_000;
const STEP_MS = 250;
/** Answers an `InnerSize`, in the page. */
export const INNER_SIZE = "({ width: innerWidth, height: innerHeight })";
const askSize = inPage<undefined, InnerSize>(`() => ${INNER_SIZE}`);

/**
 * Looks where on the screen the element of an action is, while the action runs: it costs the action no time.
 * @returns the function that answers what is known by now; null for what has no element, or cannot be told.
 */
export const lookForTouched = (
  session: Touching,
  args: Record<string, unknown>,
): (() => Box | null) => beginLook(session, args).found;

/** The same for a step of a recipe or an agent, which may be over before the look is: that is waited for a little. */
export function lookForStep(
  session: Touching,
  { selector, frame }: StepElement,
): () => Promise<Box | null> {
  const { found, ended } = beginLook(session, { selector, frame }, true);
  return async () => {
    await withDeadline("the element of a step", STEP_MS, ended).catch(() => {});
    return found();
  };
}

function beginLook(
  session: Touching,
  { selector, frame }: Record<string, unknown>,
  is_first = false,
): { found(): Box | null; ended: Promise<void> } {
  let found: Box | null = null;
  if (typeof selector !== "string") return { found: () => null, ended: Promise.resolve() };
  const look = async () => {
    const pages = await session.pages();
    const named = target({ pages }, { selector, frame: frame as FrameArg });
    const element = is_first ? named.first() : named;
    const [box, origin] = await Promise.all([
      element.boundingBox({ timeout: LOOK_MS }),
      originOf(session, pages),
    ]);
    if (!box || !origin) return;
    // A page decides how large it says it is, and how far out its elements are.
    found = Box.safeParse({ ...box, x: box.x + origin.x, y: box.y + origin.y }).data ?? null;
  };
  const ended = withDeadline("the element of an action", LOOK_MS, look()).catch(() => {});
  return { found: () => found, ended };
}

/**
 * Where the active page begins on the picture. With a display, Chromium's own bars are above it; null when the page was
 * given a size that is not its window's.
 */
export async function originOf(
  session: Touching,
  pages: Pick<Pages, "active">,
): Promise<{ x: number; y: number } | null> {
  const browser = session.browser();
  const targetId = session.activeTarget();
  if (!browser || targetId === null) return null;
  if (browser.headless) return { x: 0, y: 0 };
  const [{ bounds }, inner] = await Promise.all([
    browser.connection.root.send("Browser.getWindowForTarget", { targetId }),
    session.innerSize?.() ?? pages.active().evaluate(askSize, undefined),
  ]);
  const { left = 0, top = 0, width = 0, height = 0 } = bounds;
  if (inner.width !== width) return null;
  return { x: left, y: top + height - inner.height };
}
