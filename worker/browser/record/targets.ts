import { type Clock, endsWithin } from "#shared/kit/clock.ts";
import { AUTO_ATTACH, attachToAll, letRun } from "../cdp/attach.ts";
import { isBrowserUi } from "../cdp/browser-ui.ts";
import type { CdpConnection, CdpSession, Protocol } from "../cdp/connection.ts";

const MB = 1024 * 1024;
/** Bodies survive a navigation in these (measured: 50 MB kept only the newest ten of 5 MB). */
const DURABLE = { maxTotalBufferSize: 256 * MB, maxResourceBufferSize: 128 * MB };
/**
 * Holds what arrived of a body before it could be followed. With 36 processes waiting for two cores that was up to 8
 * MB of 280; a limit of 5 MB lost it. Only what scripts fetch is kept here, so a page of images takes no more memory.
 */
const PLAIN_BUFFERS = { maxTotalBufferSize: 128 * MB, maxResourceBufferSize: 96 * MB };
const MAX_POST_DATA = 64 * 1024;
const PRIMARY_BUFFERS = { maxTotalBufferSize: 10 * MB, maxResourceBufferSize: 2 * MB };
/** Without durable messages the renderer has to keep the bodies. */
const FALLBACK_BUFFERS = { maxTotalBufferSize: 400 * MB, maxResourceBufferSize: 200 * MB };
/** A renderer that starts on a busy machine answers late, and nobody sees what is requested before that. */
const ENABLE = { timeout_ms: 60_000, longest_ms: 120_000 };
/** How long a service worker may be held until the pages it serves have their second session. */
const HOLD_MS = 1_000;

/** A page tab: what its frames and workers call "the page". */
interface PageContext {
  target_id: string;
  url: string;
}

/** An attached target with the session that records it. */
export interface Tracked {
  session: CdpSession;
  target_id: string;
  type: string;
  page: PageContext | null;
  /** The target it belongs to, whose buffers also hold this one's bodies, even after this one is gone. */
  parent: Tracked | null;
  /**
   * Second session without durable messages: reads bodies that a service worker created, and follows streams from
   * their start.
   */
  plain: CdpSession | null;
  /** Set by `onTarget`: it is being closed, and its requests belong to nobody. */
  doomed: boolean;
  /** It began while we watched, so we must see everything that it requests. */
  is_new: boolean;
  /**
   * Resolves when both sessions see the network; a navigation before that would be seen only in part. Never rejects.
   */
  ready: Promise<unknown>;
  /** Why its own session does not see the network, so that nobody can read its responses. */
  unseen: Error | null;
  /** Resolves when its own session sees the network, which is all that its first requests need. Never rejects. */
  seen: Promise<unknown>;
  is_seen: boolean;
}

export interface TargetWatchDeps {
  connection: CdpConnection;
  clock: Clock;
  durable: boolean;
  /** Whether bodies will be read. */
  bodies: boolean;
  /** Whether this page or worker of the browser is watched. */
  owns(target: Protocol.Target.TargetInfo): boolean;
  /** Called before the target runs, so that listeners and commands come first. */
  onTarget(tracked: Tracked): void;
  onPlain(tracked: Tracked, plain: CdpSession): void;
  /** The browser did not show the target's network. */
  onUnseen(tracked: Tracked, err: Error): void;
}

export interface TargetWatch {
  all(): Tracked[];
  pages(): Tracked[];
  bySession(session: CdpSession): Tracked | null;
  /** Attaches to all current and future targets. */
  start(): Promise<void>;
}

const enableNetwork = (
  session: CdpSession,
  { durable, bodies }: Pick<TargetWatchDeps, "durable" | "bodies">,
): Promise<unknown> => {
  if (bodies && durable) session.post("Network.configureDurableMessages", DURABLE);
  const buffers = durable ? PRIMARY_BUFFERS : FALLBACK_BUFFERS;
  return session.send("Network.enable", { ...buffers, maxPostDataSize: MAX_POST_DATA }, ENABLE);
};

const trackedOf = (
  session: CdpSession,
  { targetId: target_id, type, url }: Protocol.Target.TargetInfo,
  parent: Tracked | null,
  is_new: boolean,
): Tracked => ({
  session,
  target_id,
  type,
  page: type === "page" ? { target_id, url } : (parent?.page ?? null),
  parent,
  plain: null,
  doomed: false,
  is_new,
  ready: Promise.resolve(),
  unseen: null,
  seen: Promise.resolve(),
  is_seen: false,
});

/** The second sessions of targets (`Tracked.plain`), from when they are asked for until they have come. */
function createPlainSessions(root: CdpSession) {
  const awaited = new Map<string, { owner: Tracked; attached: PromiseWithResolvers<void> }>();
  return {
    /** The target whose second session this is; null when it is not awaited. */
    ownerOf: (target_id: string): Tracked | null => awaited.get(target_id)?.owner ?? null,
    /** Resolves when the second session has come; undefined when none is awaited. */
    attached: (target_id: string): Promise<void> | undefined =>
      awaited.get(target_id)?.attached.promise,
    /** The cost was too small to measure: 61 and 302 bodies took the same CPU with and without second sessions. */
    attach: async (owner: Tracked): Promise<void> => {
      if (awaited.has(owner.target_id)) return;
      const attached = Promise.withResolvers<void>();
      awaited.set(owner.target_id, { owner, attached });
      try {
        await root.send("Target.attachToTarget", { targetId: owner.target_id, flatten: true });
      } finally {
        awaited.delete(owner.target_id);
        attached.resolve();
      }
      await owner.plain?.send("Network.enable", PLAIN_BUFFERS);
    },
  };
}

export function watchTargets(deps: TargetWatchDeps): TargetWatch {
  const { connection, clock } = deps;
  const { root } = connection;
  const tracked = new Map<CdpSession, Tracked>();
  const plain_sessions = createPlainSessions(root);
  let service_worker_seen = false;

  const onAttached =
    (parent: Tracked | null) =>
    ({ sessionId, targetInfo, waitingForDebugger }: Protocol.Target.AttachedToTargetEvent) => {
      const session = connection.session(sessionId);
      if (!session) return;
      const owner = parent === null ? plain_sessions.ownerOf(targetInfo.targetId) : null;
      if (owner) {
        owner.plain = session;
        return deps.onPlain(owner, session);
      }
      const foreign = isBrowserUi(targetInfo) || (parent === null && !deps.owns(targetInfo));
      if (foreign) return letRun(root, session);
      addTarget(session, targetInfo, parent, waitingForDebugger);
    };

  function addTarget(
    session: CdpSession,
    info: Protocol.Target.TargetInfo,
    parent: Tracked | null,
    is_new: boolean,
  ): void {
    const entry = trackedOf(session, info, parent, is_new);
    tracked.set(session, entry);
    session.on("Target.attachedToTarget", onAttached(entry));
    void session.closed.then(() => tracked.delete(session));
    deps.onTarget(entry);
    if (entry.doomed) {
      entry.is_seen = true;
      letRun(root, session);
      return;
    }
    // Posted, never awaited: awaiting one of these before the resume can deadlock with a paused target.
    const enabled = enableNetwork(session, deps);
    session.post("Target.setAutoAttach", AUTO_ATTACH);
    const plain_too = deps.bodies && deps.durable && info.type !== "service_worker";
    entry.seen = enabled.catch((err: Error) => {
      entry.unseen = err;
      deps.onUnseen(entry, err);
    });
    entry.ready = Promise.allSettled([
      entry.seen,
      plain_too ? plain_sessions.attach(entry) : undefined,
    ]);
    void entry.seen.then(() => {
      entry.is_seen = true;
    });
    if (info.type === "service_worker") service_worker_seen = true;
    if (service_worker_seen) resumeWhenServed(entry);
    else letRun(root, session);
  }

  /** Resumes a service worker, and the pages it may serve, once the sessions that can read its bodies exist. */
  function resumeWhenServed(entry: Tracked): void {
    const served = [...tracked.values()].filter((t) => t === entry || t.page !== null);
    const attached = Promise.all(served.map((t) => plain_sessions.attached(t.target_id)));
    void endsWithin(clock, HOLD_MS, attached).then(() => letRun(root, entry.session));
  }

  return {
    all: () => [...tracked.values()],
    pages: () => [...tracked.values()].filter((t) => t.type === "page"),
    bySession: (session) => tracked.get(session) ?? null,
    start: async () => {
      root.on("Target.attachedToTarget", onAttached(null));
      await Promise.all([
        root.send("Target.setDiscoverTargets", { discover: true }),
        attachToAll(root),
      ]);
    },
  };
}
