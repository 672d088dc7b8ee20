import type { CdpSession } from "./connection.ts";

/** For pages, frames and workers: what they make waits for `Runtime.runIfWaitingForDebugger`. For the browser: `attachToAll`. */
export const AUTO_ATTACH = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };

/**
 * Attaches to every page, shared worker and service worker there is and will be, as `Target.setAutoAttach` at the browser's
 * root does, but for one thing: while that is on, whether it waits or not, Chromium stops the renderer that calls
 * `window.open` until the new window is let go, and throws away what frames of other processes say to the page meanwhile
 * (measured: 30 to 60 % of two frames' messages around eight windows; nothing this way). Workers and windows without an
 * opener wait as ever; windows with one do not, so their first requests are the business of `record/new-windows.ts`.
 */
export async function attachToAll(root: CdpSession): Promise<void> {
  const { targetInfo } = await root.send("Target.getTargetInfo");
  await root.send("Target.autoAttachRelated", {
    targetId: targetInfo.targetId,
    waitForDebuggerOnStart: true,
  });
}
