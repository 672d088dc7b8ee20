import { CdpError, type CdpSession } from "./connection.ts";

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

/** Lets a target run that this connection was attached to before it ran. `root`: the connection's browser. */
export function letRun(root: CdpSession, session: CdpSession): void {
  session
    .send("Runtime.runIfWaitingForDebugger")
    .catch((err: Error) => (wasDetached(err) ? releaseLost(root, session) : undefined));
}

const wasDetached = (err: Error): boolean => err instanceof CdpError && err.gone;

/**
 * When another client sends `Target.setAutoAttach` to a page, Chromium 156 detaches this connection from the frames
 * that it holds there and still keeps them waiting. Starting over lets them go; this connection is then attached to
 * every frame and worker of the page anew.
 */
async function releaseLost(root: CdpSession, { parent, target }: CdpSession): Promise<void> {
  if (!parent?.target || target?.type !== "iframe") return;
  const { targetId } = target;
  // Most frames that are gone were removed by their page.
  const exists = await root.send("Target.getTargetInfo", { targetId }).catch(() => null);
  if (exists === null) return;
  parent.post("Target.setAutoAttach", { ...AUTO_ATTACH, autoAttach: false });
  parent.post("Target.setAutoAttach", AUTO_ATTACH);
}
