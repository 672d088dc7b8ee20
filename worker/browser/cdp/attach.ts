import type { CdpSession } from "./connection.ts";

/**
 * For pages, frames and workers: what they create waits for `Runtime.runIfWaitingForDebugger`. For the browser:
 * `attachToAll`.
 */
export const AUTO_ATTACH = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };

/**
 * Attaches to every current and future page, shared worker and service worker, as `Target.setAutoAttach` at the
 * browser's root does, with one difference: while that is on, whether it waits or not, Chromium stops the renderer
 * that calls `window.open` until the new window is released, and meanwhile drops messages to the page from frames in
 * other processes (measured: 30 to 60 % of two frames' messages around eight windows were lost; none this way).
 * Workers and windows without an opener wait as before; windows with one do not, so `record/new-windows.ts` handles
 * their first requests.
 */
export async function attachToAll(root: CdpSession): Promise<void> {
  const { targetInfo } = await root.send("Target.getTargetInfo");
  await root.send("Target.autoAttachRelated", {
    targetId: targetInfo.targetId,
    waitForDebuggerOnStart: true,
  });
}
