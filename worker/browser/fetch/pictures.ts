import type { CdpSession, Protocol } from "../cdp/connection.ts";

const THUMBNAIL = { width: 320, quality: 75 };
/** Of the screenshot: how much of the page, and how large a picture. 8 million pixels take 0.7 s of an idle core. */
const WIDEST = 4_000;
const TALLEST = 16_000;
const MOST_PIXELS = 8_000_000;
const MAX_BYTES = 8 * 1024 * 1024;
/** A quarter of the pixels: 2 million take at most 6 MB, whatever they show. */
const SMALLER = 0.5;
const OFFLINE = { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 };

type Bytes = Uint8Array<ArrayBuffer>;
type Clip = Protocol.Page.Viewport;

/** A page that is to be pictured. */
export interface Page {
  session: CdpSession;
  /** The page and its frames. */
  parts: readonly { session: CdpSession }[];
  /** Time that is left for all of it. */
  left_ms(): number;
}

/** What the window shows of a page, and all of it, in pixels of the page. */
export interface PageSize {
  window: Omit<Clip, "scale">;
  whole: Omit<Clip, "scale">;
}

/** Null for a blank page. @throws DeadlineError when it does not answer; CdpError when it is gone. */
export async function sizeOf({ session }: Page, timeout_ms: number): Promise<PageSize | null> {
  const [{ frameTree }, { cssVisualViewport: view, cssContentSize: content }] = await Promise.all([
    session.send("Page.getFrameTree", undefined, { timeout_ms }),
    session.send("Page.getLayoutMetrics", undefined, { timeout_ms }),
  ]);
  const { clientWidth, clientHeight } = view;
  if (frameTree.frame.url === "about:blank" || clientWidth < 1 || clientHeight < 1) return null;
  return {
    window: { x: view.pageX, y: view.pageY, width: clientWidth, height: clientHeight },
    whole: {
      x: 0,
      y: 0,
      width: Math.min(Math.max(content.width, clientWidth), WIDEST),
      height: Math.min(Math.max(content.height, clientHeight), TALLEST),
    },
  };
}

/**
 * Cuts the page and its frames off the network until `release` is called, from the moment when `held` resolves. For the whole page its window is made as tall as
 * the page for a moment, and what loads when it is seen, or when the size of the window changes, would load.
 */
export function holdNetwork({ session, parts, left_ms }: Page): {
  held: Promise<unknown>;
  release(): void;
} {
  for (const part of parts)
    if (part.session !== session) part.session.post("Network.emulateNetworkConditions", OFFLINE);
  const timeout = { timeout_ms: left_ms() };
  return {
    held: session.send("Network.emulateNetworkConditions", OFFLINE, timeout),
    release: () => {
      for (const part of parts)
        part.session.post("Network.emulateNetworkConditions", { ...OFFLINE, offline: false });
    },
  };
}

/** What the window shows, 320 pixels wide, as WebP. */
export function windowOf(page: Page, { window }: PageSize): Promise<Bytes> {
  const scale = Math.min(1, THUMBNAIL.width / window.width);
  const { quality } = THUMBNAIL;
  return capture(page, { format: "webp", quality, clip: { ...window, scale } });
}

/** The page from its top, as PNG of at most 8 MiB. A page that its window shows as a whole is not laid out anew for it. */
export async function wholePage(page: Page, { whole, window }: PageSize): Promise<Bytes> {
  const is_shown =
    window.x === 0 &&
    window.y === 0 &&
    whole.width <= window.width &&
    whole.height <= window.height;
  const fitting = Math.min(1, Math.sqrt(MOST_PIXELS / (whole.width * whole.height)));
  for (const scale of [fitting, fitting * SMALLER]) {
    const clip = { ...whole, scale };
    const body = await capture(page, { format: "png", captureBeyondViewport: !is_shown, clip });
    if (body.length <= MAX_BYTES) return body;
  }
  throw new Error(`it takes more than ${MAX_BYTES} bytes`);
}

async function capture(
  { session, left_ms }: Page,
  what: Protocol.Page.CaptureScreenshotRequest,
): Promise<Bytes> {
  const timeout_ms = left_ms();
  const request = { ...what, optimizeForSpeed: true };
  const { data } = await session.send("Page.captureScreenshot", request, { timeout_ms });
  return new Uint8Array(Buffer.from(data, "base64"));
}
