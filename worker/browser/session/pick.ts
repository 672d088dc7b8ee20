import { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { MAX_BOXES, type PickBox, type Picked } from "#shared/protocol/schema/recorded-input.ts";
import { ActionFailure, refused } from "../actions/failure.ts";
import { type FrameArg, target } from "../actions/frames.ts";
import type { Pages } from "../actions/pages.ts";
import { originOf, type Touching } from "../actions/touched.ts";
import { type Described, moved } from "../picker/described.ts";
import { lookAt } from "../picker/look.ts";

const NO_PLACE =
  "the page was given a size that is not its window's, so its place on the picture is not known";

const invalid = (message: string) => new ActionFailure("invalid", { name: "Error", message });

/**
 * The action `pick` (rules/session-actions#pick): what is at a point of the picture, or what a selector names, and how to name
 * it. @throws ActionFailure
 */
export async function pick(
  session: Touching,
  { args, timeout_ms }: { args: Record<string, unknown>; timeout_ms: number },
): Promise<Picked> {
  const parsed = SESSION_ACTIONS.pick.args.safeParse(args);
  if (!parsed.success) throw invalid(parsed.error.issues[0]?.message ?? "is not valid");
  const { x, y, selector, frame } = parsed.data;
  const browser = session.browser();
  const target_id = session.activeTarget();
  if (!browser || target_id === null) throw refused("the session has no open tab");
  const pages = await session.pages();
  const origin = await originOf(session, pages);
  if (selector !== undefined)
    return named(session, { selector, frame, timeout_ms }, pages, origin ?? { x: 0, y: 0 });
  if (!origin) throw refused(NO_PLACE);
  const place = { x: (x ?? 0) - origin.x, y: (y ?? 0) - origin.y, size: null };
  if (place.y < 0) return { element: null, frame: [], selectors: [] };
  const found = await lookAt(browser.cdp_url, target_id, place);
  return picked(found.element, found.frame, origin);
}

const picked = (
  element: Described | null,
  frame: string[],
  origin: { x: number; y: number },
): Picked => {
  if (element === null) return { element: null, frame, selectors: [] };
  const { selectors, box, ...rest } = element;
  return {
    element: { ...rest, box: moved(box, origin) },
    frame,
    selectors: selectors.map(({ by, selector, matches, boxes }) => ({
      by,
      selector,
      matches,
      boxes: boxes.map((one) => moved(one, origin)),
    })),
  };
};

interface Named {
  selector: string;
  frame: FrameArg;
  timeout_ms: number;
}

/** What Playwright finds by a selector, and what else its first element could be called. */
async function named(
  session: Touching,
  { selector, frame, timeout_ms }: Named,
  pages: Pick<Pages, "active">,
  origin: { x: number; y: number },
): Promise<Picked> {
  const found = target({ pages }, { selector, frame });
  const matches = await found.count();
  const boxes: PickBox[] = [];
  for (let i = 0; i < Math.min(matches, MAX_BOXES); i += 1) {
    const box = await found.nth(i).boundingBox({ timeout: timeout_ms });
    if (box) boxes.push(moved(box, origin));
  }
  const given = { by: "given" as const, selector, matches, boxes };
  const at = boxes[0] && moved(boxes[0], { x: -origin.x, y: -origin.y });
  const first = at && (await elementIn(session, at));
  if (!at || !first?.element)
    return { element: null, frame: [frame ?? []].flat(), selectors: [given] };
  // Playwright forgets the border of a frame of another site.
  const off = { x: first.element.box.x - at.x, y: first.element.box.y - at.y };
  const { selectors, ...rest } = picked(first.element, first.frame, origin);
  const others = selectors.filter((one) => one.selector !== selector);
  const mended = { ...given, boxes: boxes.map((box) => moved(box, off)) };
  return { ...rest, selectors: [mended, ...others] };
}

/** The element that has this box on the page; null when another covers it. */
async function elementIn(session: Touching, { x, y, width, height }: PickBox) {
  const browser = session.browser();
  const target_id = session.activeTarget();
  if (!browser || target_id === null) return null;
  const middle = { x: x + width / 2, y: y + height / 2 };
  return lookAt(browser.cdp_url, target_id, { ...middle, size: { width, height } });
}
