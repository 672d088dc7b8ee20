import { type Clock, endsWithin } from "#shared/kit/clock.ts";
import { jpegSize } from "../bridge/jpeg-size.ts";
import { jpegRectangle, MAX_JPEG_BYTES, updateHead } from "../bridge/rfb-wire.ts";
import { webSocketTransport } from "../bridge/ws-transport.ts";
import { CdpConnection, type CdpSession } from "../cdp/connection.ts";
import type { ScreenSink } from "./screen-sink.ts";

export interface CastSourceDeps {
  /** The browser's DevTools socket. */
  cdp_url: string;
  /** The tab to record; null while there is none. */
  activeTarget(): string | null;
  sink: ScreenSink;
  clock: Clock;
  signal: AbortSignal;
}

const QUALITY = 60;
/**
 * A screencast begins with a frame, also when nothing moves. One that was started while the tab swaps its page for another
 * may say nothing, ever: it is started anew.
 */
const FIRST_MS = 1_000;
const LONGEST_FIRST_MS = 8_000;
/** How soon a change of the active tab is noticed. */
const FOLLOW_MS = 500;

/**
 * Records a page without a display, each frame as one picture in Tight encoding. While a page moves, its screencast is
 * stopped between two frames, because Chromium reads back and compresses every frame of a running one, whether or not it is
 * acknowledged. Resolves when the browser is gone, or the signal aborts. @throws when it cannot be reached.
 */
export async function recordCast(deps: CastSourceDeps): Promise<void> {
  const { clock, signal } = deps;
  const draw = createDrawing(deps.sink);
  const connection = new CdpConnection(webSocketTransport(deps.cdp_url));
  const stop = () => connection.close();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const gone = new AbortController();
  void connection.closed.then(() => gone.abort());
  const over = gone.signal;
  const shown: { target: string | null; end: AbortController } = {
    target: null,
    end: new AbortController(),
  };
  gone.signal.addEventListener("abort", () => shown.end.abort(), { once: true });
  try {
    while (!over.aborted) {
      const target = deps.activeTarget();
      if (target !== null && target !== shown.target) {
        shown.end.abort();
        shown.target = target;
        shown.end = new AbortController();
        await show({ ...deps, draw }, connection, target, shown.end.signal).catch(() => {
          // The tab was closed meanwhile or does not answer: the next pass looks at it again.
          shown.target = null;
        });
      }
      await clock.sleep(FOLLOW_MS, over);
    }
  } finally {
    gone.abort();
    signal.removeEventListener("abort", stop);
    connection.close();
  }
}

async function show(
  deps: CastSourceDeps & { draw(jpeg: Buffer): boolean },
  connection: CdpConnection,
  targetId: string,
  over: AbortSignal,
): Promise<void> {
  const { sink, clock, draw } = deps;
  const { sessionId } = await connection.root.send("Target.attachToTarget", {
    targetId,
    flatten: true,
  });
  const session = connection.session(sessionId);
  if (!session) return;
  let last: Buffer | null = null;
  let resting = false;
  let began = Promise.withResolvers<true>();
  const start = async () => {
    for (let ms = FIRST_MS; !over.aborted; ms = Math.min(2 * ms, LONGEST_FIRST_MS)) {
      began = Promise.withResolvers();
      session.post("Page.startScreencast", { format: "jpeg", quality: QUALITY });
      if (await endsWithin(clock, ms, began.promise)) return;
      leave(session);
    }
  };
  const rest = async () => {
    resting = true;
    session.post("Page.stopScreencast");
    await clock.sleep(sink.restMs(), over);
    resting = false;
    await start();
  };
  session.on("Page.screencastFrame", ({ data, sessionId: id }) => {
    began.resolve(true);
    session.post("Page.screencastFrameAck", { sessionId: id });
    // The first frame after a rest is sent even if nothing has changed: then the screencast stays on, and waits.
    const jpeg = Buffer.from(data, "base64");
    if (over.aborted || resting || last?.equals(jpeg)) return;
    if (draw(jpeg)) last = jpeg;
    void rest();
  });
  const end = () => {
    began.resolve(true);
    leave(session);
    // Otherwise the browser would keep a session of each tab that was ever the active one.
    connection.root.post("Target.detachFromTarget", { sessionId });
  };
  // Another tab may be the active one by now.
  if (over.aborted) return end();
  over.addEventListener("abort", end, { once: true });
  void start();
}

const leave = (session: CdpSession): void => {
  if (!session.is_closed) session.post("Page.stopScreencast");
};

/**
 * Draws whole pictures; a chunk begins with the first, with another size that lasts, and when one is due. While somebody
 * takes a screenshot at a scale or of the whole page, Chromium gives the page another size for it: a frame of a size that
 * the next frame does not have is none of the screen, and is left out. The next one comes after the rest.
 * @returns whether it was drawn.
 */
function createDrawing(sink: ScreenSink): (jpeg: Buffer) => boolean {
  let drawn: Size | null = null;
  let seen: Size | null = null;
  return (jpeg) => {
    const size = jpegSize(jpeg);
    if (size === null || jpeg.length > MAX_JPEG_BYTES) return false;
    const resized = drawn !== null && !isSame(size, drawn);
    const lasts = seen !== null && isSame(size, seen);
    seen = size;
    if (resized && !lasts) return false;
    if (drawn === null || resized || sink.isDue()) {
      const why = drawn === null ? "start" : resized ? "size" : "length";
      sink.begin({ ...size, name: "page", why });
    }
    drawn = size;
    sink.update(Buffer.concat([updateHead(1), jpegRectangle(size, jpeg.length), jpeg]));
    return true;
  };
}

interface Size {
  width: number;
  height: number;
}
const isSame = (one: Size, other: Size): boolean =>
  one.width === other.width && one.height === other.height;
