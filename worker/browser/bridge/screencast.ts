import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { CdpConnection, type CdpSession, type Protocol } from "../cdp/connection.ts";
import { browserPath } from "./cdp.ts";
import { createPageSize } from "./page-size.ts";
import type { Size } from "./rfb-wire.ts";
import { createFrames, type Frames } from "./screencast-frames.ts";
import { webSocketTransport } from "./ws-transport.ts";

/** The page of a lane as frames, for any number of watchers. */
export interface Screencast extends Pick<Frames, "latest" | "watch" | "taken"> {
  /** The page that is shown; null between two pages. */
  page(): CdpSession | null;
  /** Resizes the page as this viewer wants; null withdraws its request. The latest request wins. */
  resize(viewer: object, wish: Size | null): Promise<void>;
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
/** How soon a change of the active tab is noticed. */
const FOLLOW_MS = 500;

const isPage = ({ type, url }: Protocol.Target.TargetInfo): boolean =>
  type === "page" && !/^(chrome|devtools):/.test(url);

/** @throws when the browser's debugging port does not answer. */
export async function startScreencast(deps: ScreencastDeps): Promise<Screencast> {
  const { port, clock, log } = deps;
  const path = await browserPath(port);
  const connection = new CdpConnection(webSocketTransport(`ws://127.0.0.1:${port}${path}`));
  const over = new AbortController();
  const frames = createFrames(clock, over.signal);
  const size = createPageSize();
  /** Tabs in the order in which they were opened. */
  const tabs = new Set<string>();
  let shown: { target: string; session: CdpSession | null } | null = null;

  const wanted = (): string | null => {
    const active = deps.activeTarget();
    return active !== null && tabs.has(active) ? active : ([...tabs].at(-1) ?? null);
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
    session.on("Page.screencastFrame", (frame) =>
      frames.add(session, frame, session === shown?.session),
    );
    if (size.isWished()) await size.apply(session);
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
    latest: frames.latest,
    watch: frames.watch,
    taken: frames.taken,
    page: () => shown?.session ?? null,
    resize: async (viewer, wish) => {
      if (size.wish(viewer, wish) && shown?.session) await size.apply(shown.session);
    },
    closed: connection.closed,
    close,
  };
}
