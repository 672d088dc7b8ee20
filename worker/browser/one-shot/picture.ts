import type { CDPSession } from "playwright-core";
import type { SessionActionArgs } from "#shared/protocol/actions/session-actions.ts";
import { ONE_SHOT } from "#shared/protocol/limits.ts";
import type { OneShotCall } from "#shared/protocol/schema/one-shot.ts";
import { refused } from "../actions/failure.ts";
import { locatorIn } from "../actions/selectors.ts";
import type { Shot } from "./shot.ts";

type Wish = Omit<SessionActionArgs<"screenshot">, "timeout_s">;
interface PictureResult {
  mime: string;
  content_base64: string;
}
interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

const isScaled = ({ viewport }: OneShotCall): boolean =>
  viewport !== undefined && viewport.device_scale_factor !== 1;

/** From now on the page has the scale that was asked for; the session ends with the browser. */
async function scaledSession({ call, page }: Shot): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  const { width = 0, height = 0, device_scale_factor: deviceScaleFactor = 1 } = call.viewport ?? {};
  const metrics = { width, height, deviceScaleFactor, mobile: false };
  await session.send("Emulation.setDeviceMetricsOverride", metrics);
  return session;
}

/** Before the page is opened, because it may choose its pictures by the scale. */
export async function scalePage(shot: Shot): Promise<void> {
  if (isScaled(shot.call)) await scaledSession(shot);
}

/** Which part of the document is meant; null: what its window shows. */
async function boxOf({ page, left }: Shot, session: CDPSession, a: Wish): Promise<Box | null> {
  const { cssContentSize, cssVisualViewport: shown } = await session.send("Page.getLayoutMetrics");
  if (a.clip) return a.clip;
  if (a.full_page)
    return { x: 0, y: 0, width: cssContentSize.width, height: cssContentSize.height };
  if (a.selector === undefined) return null;
  const found = locatorIn(page, { selector: a.selector, ...(a.frame && { frame: a.frame }) });
  if ((await found.count()) === 0) throw refused(`no element matches ${a.selector}`);
  const box = await found.first().boundingBox({ timeout: left() });
  if (!box || box.width === 0 || box.height === 0)
    throw refused(
      `${a.selector} is hidden or has no size: there is nothing to take a screenshot of`,
    );
  return { x: box.x + shown.pageX, y: box.y + shown.pageY, width: box.width, height: box.height };
}

/** A page says itself how large it is. @throws ActionFailure page */
export function demandPixels({ width, height }: Box, scale: number): void {
  if (width * height * scale * scale > ONE_SHOT.pixels)
    throw refused(
      `the picture has more than ${ONE_SHOT.pixels / 1e6} million pixels with its scale of ${scale}`,
    );
}

/**
 * A picture as the action takes it. Chromium takes one in the scale of the debugger that asks for it, and Playwright's own
 * is 1: with another scale it is asked for here.
 */
export async function takePicture(shot: Shot, a: Wish): Promise<PictureResult> {
  if (!isScaled(shot.call)) return shot.act("screenshot", a);
  const session = await scaledSession(shot);
  const box = await boxOf(shot, session, a);
  if (box) demandPixels(box, shot.call.viewport?.device_scale_factor ?? 1);
  if (a.omit_background)
    await session.send("Emulation.setDefaultBackgroundColorOverride", {
      color: { r: 0, g: 0, b: 0, a: 0 },
    });
  const { data } = await session.send("Page.captureScreenshot", {
    format: a.format,
    ...(a.quality !== undefined && a.format !== "png" && { quality: a.quality }),
    ...(box && { clip: { ...box, scale: 1 }, captureBeyondViewport: true }),
  });
  return { mime: `image/${a.format}`, content_base64: data };
}
