import type { Clock } from "#shared/kit/clock.ts";
import type { CdpSession } from "../cdp/connection.ts";
import type { Activity } from "../record/activity.ts";

export interface ScrollOptions {
  /** Pixels per step. */
  step: number;
  /** Pixels in all. */
  max: number;
  /** Stops when the page has neither grown nor requested anything for this long. */
  early_after_ms: number;
}

/** A page that does not answer a scroll step is left where it is. */
const STEP_TIMEOUT_MS = 5_000;
/** How often a page at its end is looked at for growth. */
const LOOK_EVERY_MS = 100;

/** One step, then two frames: lazy loaders check what became visible when a frame is drawn. */
const scrollStep = (step: number): string => `new Promise((resolve) => {
  const root = document.scrollingElement ?? document.documentElement;
  const before = root.scrollTop;
  root.scrollBy({ top: ${step}, behavior: "instant" });
  const moved = root.scrollTop - before;
  const done = () => resolve({ moved, height: root.scrollHeight });
  setTimeout(done, 100);
  requestAnimationFrame(() => requestAnimationFrame(done));
})`;

/** Scrolls down step by step (rules/capture#scrolling). Resolves with the pixels scrolled and why it ended. */
export async function scrollPage(
  session: CdpSession,
  options: ScrollOptions,
  activity: Activity,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ pixels: number; reason: string }> {
  let pixels = 0;
  let height = 0;
  let begun = activity.begun;
  let alive_at = clock.monotonic();
  while (!signal.aborted) {
    if (pixels >= options.max) return { pixels, reason: "scroll_max reached" };
    const step = Math.min(options.step, options.max - pixels);
    const answer = await session
      .send(
        "Runtime.evaluate",
        { expression: scrollStep(step), awaitPromise: true, returnByValue: true },
        { timeout_ms: STEP_TIMEOUT_MS },
      )
      .catch(() => null);
    const value = answer?.result.value as { moved: number; height: number } | undefined;
    if (!value) return { pixels, reason: "the page did not answer" };
    pixels += value.moved;
    if (value.height > height || activity.begun > begun) alive_at = clock.monotonic();
    height = Math.max(height, value.height);
    begun = activity.begun;
    if (clock.monotonic() - alive_at >= options.early_after_ms)
      return { pixels, reason: "nothing new appeared" };
    if (value.moved === 0) await clock.sleep(LOOK_EVERY_MS, signal);
  }
  return { pixels, reason: "out of time" };
}
