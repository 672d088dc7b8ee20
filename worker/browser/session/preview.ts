import { browserStarting } from "../actions/failure.ts";
import type { Live } from "./live.ts";

const PREVIEW = { width: 640, quality: 50, ms: 2_000 } as const;

/** A small screenshot of the active tab, taken over the pipe: it costs the page little and needs no Playwright. */
export async function previewOf(live: Live): Promise<{ mime: string; content_base64: string }> {
  const watch = live.watch();
  const target_id = live.activeTarget();
  const session = target_id === null ? null : watch.sessionOf(target_id);
  // A browser that has just started, or whose last tab was closed, gets its next one in a moment.
  if (!session) throw browserStarting("the session has no open tab yet");
  const timeout = { timeout_ms: PREVIEW.ms };
  const { cssVisualViewport: view } = await session.send(
    "Page.getLayoutMetrics",
    undefined,
    timeout,
  );
  const scale = Math.min(1, PREVIEW.width / Math.max(1, view.clientWidth));
  const { data } = await session.send(
    "Page.captureScreenshot",
    {
      format: "jpeg",
      quality: PREVIEW.quality,
      optimizeForSpeed: true,
      clip: {
        x: view.pageX,
        y: view.pageY,
        width: view.clientWidth,
        height: view.clientHeight,
        scale,
      },
    },
    timeout,
  );
  return { mime: "image/jpeg", content_base64: data };
}
