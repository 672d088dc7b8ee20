import type { Page } from "playwright-core";
import { withDeadline } from "#shared/kit/clock.ts";

/** Best first; the first that is small enough is used. */
const TRIES = [
  { width: 1_024, quality: 60 },
  { width: 800, quality: 45 },
  { width: 640, quality: 30 },
  { width: 480, quality: 20 },
] as const;
const PICTURE_MS = 3_000;

/** What the tab shows, as a JPEG of at most `max_bytes` in base64; null when there is none in time. */
export async function smallPicture(page: Page, max_bytes: number): Promise<string | null> {
  return withDeadline("the picture", PICTURE_MS, take(page, max_bytes)).catch(() => null);
}

async function take(page: Page, max_bytes: number): Promise<string | null> {
  const session = await page.context().newCDPSession(page);
  try {
    const { cssVisualViewport: view } = await session.send("Page.getLayoutMetrics");
    for (const { width, quality } of TRIES) {
      const scale = Math.min(1, width / Math.max(1, view.clientWidth));
      const { data } = await session.send("Page.captureScreenshot", {
        format: "jpeg",
        quality,
        optimizeForSpeed: true,
        clip: {
          x: view.pageX,
          y: view.pageY,
          scale,
          width: view.clientWidth,
          height: view.clientHeight,
        },
      });
      if (Buffer.byteLength(data, "base64") <= max_bytes) return data;
    }
    return null;
  } finally {
    await session.detach().catch(() => {});
  }
}
