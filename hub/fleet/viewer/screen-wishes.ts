import { errorMessage } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";
import { askBridge } from "../sessions/bridge.ts";
import type { HubSession } from "../sessions/hub-session.ts";

export interface ScreenSize {
  width: number;
  height: number;
}

/** The sizes that viewers with `resize=remote` have given a session's screen. */
interface Wishes {
  /** In the order in which they came; the last one counts. */
  bySocket: Map<object, ScreenSize>;
  /** Whether a message to the worker is under way, and whether something has changed since. */
  telling: boolean;
  changed: boolean;
}

const SIZE = { least: 10, most: 9_999 };

const wishes = new WeakMap<HubSession, Wishes>();

const wishesOf = (session: HubSession): Wishes => {
  const known = wishes.get(session);
  if (known) return known;
  const made: Wishes = { bySocket: new Map(), telling: false, changed: false };
  wishes.set(session, made);
  return made;
};

/** A viewer's own message has just gone to the VNC server with this size. */
export function screenWished(session: HubSession, viewer: object, size: ScreenSize): void {
  const { least, most } = SIZE;
  const possible = [size.width, size.height].every((pixels) => pixels >= least && pixels <= most);
  // What the server refuses, or what no bridge is asked for.
  if (!possible) return;
  const all = wishesOf(session);
  all.bySocket.delete(viewer);
  all.bySocket.set(viewer, size);
  all.changed = true;
}

/**
 * A viewer has left. When it had changed the screen, the screen gets the size that another viewer wants, or its own
 * (rules/viewer#size-of-the-screen): its VNC server would keep what was asked for last.
 */
export function viewerLeft(
  ctx: Pick<FleetContext, "log" | "clock">,
  session: HubSession,
  viewer: object,
): void {
  const all = wishes.get(session);
  if (!all?.bySocket.delete(viewer)) return;
  all.changed = true;
  if (!all.telling) void tellWorker(ctx, session, all);
}

async function tellWorker(
  ctx: Pick<FleetContext, "log" | "clock">,
  session: HubSession,
  all: Wishes,
): Promise<void> {
  all.telling = true;
  try {
    // The message under way may overtake the wish of a viewer that comes meanwhile.
    while (all.changed && !session.ended.aborted) {
      all.changed = false;
      const size = [...all.bySocket.values()].at(-1);
      const path = size ? `screen/${size.width}x${size.height}` : "screen";
      const answer = await askBridge(ctx, session, path, { method: size ? "PUT" : "DELETE" });
      await answer.body?.cancel();
    }
  } catch (err) {
    // The lane's reset puts it right in any case.
    if (!session.ended.aborted)
      ctx.log.warn(
        { worker_id: session.link.worker_id, lane_idx: session.lane_idx, err: errorMessage(err) },
        "the lane's screen did not get its size back",
      );
  } finally {
    all.telling = false;
  }
}
