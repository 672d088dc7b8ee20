import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { CdpConnection, type CdpSession, type Protocol } from "../cdp/connection.ts";
import { browserPath } from "./cdp.ts";
import { jpegSize } from "./jpeg-size.ts";
import { webSocketTransport } from "./ws-transport.ts";

/** One frame of the page. */
export interface Picture {
  /** Counts up. */
  no: number;
  jpeg: Buffer;
  width: number;
  height: number;
  /** CSS pixels per pixel of the frame. */
  scale: number;
}

/** The page of a lane as frames, for any number of watchers. */
export interface Screencast {
  latest(): Picture | null;
  /** Calls back at every new frame; returns a function that stops it. */
  watch(onPicture: () => void): () => void;
  /** A watcher has taken the latest frame: the next one may come. */
  taken(): void;
  /** The page that is shown; null between two pages. */
  page(): CdpSession | null;
  /** Resizes the page as this viewer wants; null withdraws its request. The latest request wins. */
  resize(viewer: object, wish: { width: number; height: number } | null): Promise<void>;
  /** Resolves when the browser is gone. */
  readonly closed: Promise<void>;
  close(): void;
}

export interface ScreencastDeps {
  port: number;
  /** The tab to show, when the session knows it. */
  activeTarget(): string | null;
  clock: Clock;
  log: Log;
}

const QUALITY = 75;
/** At most 20 frames a second: each costs the renderer a JPEG of its whole page. */
const PICTURE_MS = 50;
/** How soon a change of the active tab is noticed. */
const FOLLOW_MS = 500;

/** @throws when the browser's debugging port does not answer. */
export async function startScreencast(deps: ScreencastDeps): Promise<Screencast> {
  const { port, clock, log } = deps;
  const path = await browserPath(port);
  const connection = new CdpConnection(webSocketTransport(`ws://127.0.0.1:${port}${path}`));
  const watchers = new Set<() => void>();
  /** Tabs in the order in which they were opened. */
  const tabs = new Set<string>();
  let shown: { target: string; session: CdpSession | null } | null = null;
  let latest: Picture | null = null;
  /** In the order in which they were reported. */
  const wishes = new Map<object, { width: number; height: number }>();
  /** The number with which the latest frame must be acknowledged to Chromium. */
  let unacknowledged: { session: CdpSession; id: number; at: number } | null = null;
  const over = new AbortController();

  const isPage = ({ type, url }: Protocol.Target.TargetInfo) =>
    type === "page" && !/^(chrome|devtools):/.test(url);
  const wanted = (): string | null => {
    const active = deps.activeTarget();
    return active !== null && tabs.has(active) ? active : ([...tabs].at(-1) ?? null);
  };
  const onFrame = (session: CdpSession, frame: Protocol.Page.ScreencastFrameEvent) => {
    const jpeg = Buffer.from(frame.data, "base64");
    const pixels = jpegSize(jpeg);
    unacknowledged = { session, id: frame.sessionId, at: clock.monotonic() };
    if (pixels === null || session !== shown?.session) return acknowledge();
    const scale = frame.metadata.deviceWidth / pixels.width;
    latest = { no: (latest?.no ?? 0) + 1, jpeg, ...pixels, scale };
    for (const tell of watchers) tell();
  };
  const acknowledge = () => {
    if (!unacknowledged) return;
    const { session, id, at } = unacknowledged;
    unacknowledged = null;
    const wait = at + PICTURE_MS - clock.monotonic();
    const send = () => session.post("Page.screencastFrameAck", { sessionId: id });
    if (wait <= 0) send();
    else void clock.sleep(wait, over.signal).then(send);
  };
  const applySize = async (session: CdpSession) => {
    const size = [...wishes.values()].at(-1);
    if (!size) return void (await session.send("Emulation.clearDeviceMetricsOverride"));
    await session.send("Emulation.setDeviceMetricsOverride", {
      ...size,
      deviceScaleFactor: 1,
      mobile: false,
    });
  };
  const show = async (target: string) => {
    const before = shown;
    const mine = { target, session: null as CdpSession | null };
    shown = mine;
    before?.session?.post("Page.stopScreencast");
    const { sessionId } = await connection.root.send("Target.attachToTarget", {
      targetId: target,
      flatten: true,
    });
    const session = connection.session(sessionId);
    if (!session || shown !== mine) return;
    mine.session = session;
    session.on("Page.screencastFrame", (frame) => onFrame(session, frame));
    if (wishes.size > 0) await applySize(session);
    await session.send("Page.startScreencast", { format: "jpeg", quality: QUALITY });
  };
  const follow = async () => {
    const target = wanted();
    if (target === null || target === shown?.target) return;
    try {
      await show(target);
    } catch (err) {
      // The tab was closed in the meantime or does not answer: the next pass looks at it again.
      shown = null;
      log.debug({ target, err: errorMessage(err) }, "tab cannot be shown");
    }
  };

  connection.root.on("Target.targetCreated", ({ targetInfo }) => {
    if (isPage(targetInfo)) tabs.add(targetInfo.targetId);
  });
  connection.root.on("Target.targetDestroyed", ({ targetId }) => {
    tabs.delete(targetId);
    if (shown?.target === targetId) shown = null;
  });
  await connection.root.send("Target.setDiscoverTargets", { discover: true });
  const loop = startLoop({
    name: "screencast",
    everyMs: FOLLOW_MS,
    clock,
    log,
    pass: follow,
  });
  const close = () => {
    over.abort();
    void loop.stop();
    connection.close();
  };
  void connection.closed.then(close);

  return {
    latest: () => latest,
    watch: (onPicture) => {
      watchers.add(onPicture);
      return () => watchers.delete(onPicture);
    },
    taken: acknowledge,
    page: () => shown?.session ?? null,
    resize: async (viewer, wish) => {
      if (!wishes.delete(viewer) && wish === null) return;
      if (wish) wishes.set(viewer, wish);
      if (shown?.session) await applySize(shown.session);
    },
    closed: connection.closed,
    close,
  };
}
