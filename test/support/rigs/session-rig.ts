import { rmSync } from "node:fs";
import type { z } from "zod";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { isSessionAction, SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import { newSessionId, newToken } from "#shared/protocol/ids.ts";
import type { HubOpenSession, SessionReply } from "#shared/protocol/link/messages.ts";
import { Picture } from "#shared/protocol/schema/session.ts";
import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import { socketTransport } from "#worker/browser/cdp/transport.ts";
import { runFetch } from "#worker/browser/fetch/run-fetch.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";
import { createLanePool } from "#worker/browser/lanes/pool.ts";
import { runScripted } from "#worker/browser/scripted/run-scripted.ts";
import type { LiveSession, Sessions } from "#worker/browser/session/live-session.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { type RunningWorker, startWorker } from "#worker/program/start.ts";
import { FAKE_VERSION, type FakeHub, type FakePeer, startFakeHub } from "../fakes/fake-hub.ts";
import { laneEnv, makeDataDir } from "./lane-pool.ts";

/** A whole worker with real browsers, spoken to over its link by a hub that the test plays. */
export interface SessionRig {
  hub: FakeHub;
  peer: FakePeer;
  worker: RunningWorker;
  /** What the bridge sees. */
  sessions: Pick<Sessions, "get" | "all">;
  env: Record<string, string>;
  data_dir: string;
  /** Opens a session on a lane and waits for the answer; rejects when it is refused. */
  open(wish?: Partial<HubOpenSession>): Promise<OpenSession>;
  /** What the bridge sees of a session. */
  live(session_id: string): LiveSession;
  /** Sends one command to the first tab over a connection of its own, as a person with the inspector could. */
  cdp(cdp_url: string, method: string, params: Record<string, unknown>): Promise<unknown>;
  close(): Promise<void>;
}

export interface OpenSession {
  session_id: string;
  lease_token: number;
  lane_idx: number;
  url: string;
  /** One call, with its whole reply. */
  call(action: string, args?: Record<string, unknown>, timeout_ms?: number): Promise<SessionReply>;
  /** The result of a call that must succeed. */
  get<T = unknown>(action: string, args?: Record<string, unknown>, timeout_ms?: number): Promise<T>;
  /** As `get`, for a picture that may come as a blob. */
  picture(action: string, args: Record<string, unknown>): Promise<z.infer<typeof Picture>>;
  /** Ends it and waits until its lane is warm again. */
  close(): Promise<void>;
}

let tokens = 0;
/** A call that nothing is expected to end sooner. */
const CALL_MS = 60_000;

export async function startSessionRig(env: Record<string, string> = {}): Promise<SessionRig> {
  const data_dir = makeDataDir();
  const hub = await startFakeHub();
  const own = laneEnv(data_dir, {
    HUB_URL: hub.url,
    SVC_WORKER_ID: "w1",
    LANE_POOL: "1",
    SVC_HEADLESS_LANES: "1",
    SVC_DRAIN_TIMEOUT_S: "1",
    ...env,
  });
  const seen = Promise.withResolvers<Sessions>();
  const worker = await startWorker(
    {
      config: loadWorkerConfig(own, {}),
      log: silentLog,
      clock: systemClock,
      version: FAKE_VERSION,
    },
    {
      createLanePool,
      runFetch,
      runScripted,
      loadPlaywright: async () => {},
      startBridges: async (deps) => {
        seen.resolve(deps.sessions as Sessions);
        return { close: async () => {} };
      },
      random: Math.random,
    },
  );
  const sessions = await seen.promise;
  const peer = await hub.nextPeer();
  await peer.register();
  return {
    hub,
    peer,
    worker,
    sessions,
    env: own,
    data_dir,
    open: (wish) => openSession(peer, sessions, wish),
    live: (session_id) => {
      const live = sessions.get(session_id);
      if (!live) throw new Error(`no session ${session_id}`);
      return live;
    },
    cdp: sendToFirstTab,
    close: async () => {
      await worker.stop();
      await hub.stop();
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}

async function openSession(
  peer: FakePeer,
  sessions: Pick<Sessions, "get">,
  wish: Partial<HubOpenSession> = {},
): Promise<OpenSession> {
  const message: HubOpenSession = {
    type: "HubOpenSession",
    session_id: newSessionId(),
    lease_token: ++tokens,
    lane_idx: 0,
    url: null,
    headless: false,
    viewport: null,
    profile: null,
    dialog_policy: "wait",
    egress: null,
    proxy: null,
    proxy_of: "job",
    ...wish,
  };
  const { session_id, lease_token, lane_idx } = message;
  const answered = peer.nextWhere(
    ["SessionOpened", "SessionRefused"],
    (frame) => frame.session_id === session_id,
  );
  peer.send(message);
  const answer = await answered;
  if (answer.type === "SessionRefused") throw new Error(`${answer.kind}: ${answer.reason}`);
  return {
    session_id,
    lease_token,
    lane_idx,
    url: answer.url,
    ...callsOf(peer, sessions, session_id),
    close: async () => {
      const warm = laneWarm(peer, lane_idx);
      peer.send({ type: "HubCloseSession", session_id, lease_token, reason: "closed by the test" });
      await warm;
    },
  };
}

/** The only browser that is in use. */
export function browserProcess({ sessions }: SessionRig): LaneBrowser {
  const browser = sessions.all()[0]?.browser();
  if (!browser) throw new Error("no session has a browser");
  return browser;
}

async function sendToFirstTab(
  cdp_url: string,
  method: string,
  params: Record<string, unknown>,
): Promise<unknown> {
  const connection = new CdpConnection(await socketTransport(cdp_url));
  try {
    const { root } = connection;
    const { targetInfos } = await root.send("Target.getTargets");
    const targetId = targetInfos.find(({ type }) => type === "page")?.targetId ?? "";
    const { sessionId } = await root.send("Target.attachToTarget", { targetId, flatten: true });
    const page = connection.session(sessionId);
    return await (page && connection.send(page, method, params, { timeout_ms: CALL_MS }));
  } finally {
    connection.close();
  }
}

/** Calls of any session the worker has. */
export function callsOf(
  peer: FakePeer,
  sessions: Pick<Sessions, "get">,
  session_id: string,
): Pick<OpenSession, "call" | "get" | "picture"> {
  const call: OpenSession["call"] = async (action, args = {}, timeout_ms = CALL_MS) => {
    const call_id = newToken();
    const replied = peer.nextWhere(["SessionReply"], (reply) => reply.call_id === call_id);
    peer.send({ type: "HubSessionCall", call_id, session_id, action, args, timeout_ms });
    return replied;
  };
  const picture: OpenSession["picture"] = async (action, args) => {
    const reply = await call(action, args);
    if (!reply.ok) throw new Error(`${action}: ${reply.kind} ${JSON.stringify(reply.error)}`);
    if (reply.blob === null) return Picture.parse(reply.result);
    const blob = sessions.get(session_id)?.files.openBlob(reply.blob);
    return Picture.parse(await Bun.file(blob?.path ?? "").json());
  };
  return {
    call,
    picture,
    get: async <T>(action: string, args?: Record<string, unknown>, timeout_ms?: number) => {
      const reply = await call(action, args, timeout_ms);
      if (!reply.ok) throw new Error(`${action}: ${reply.kind} ${JSON.stringify(reply.error)}`);
      if (reply.blob === null) demandDescribed(action, reply.result);
      return reply.result as T;
    },
  };
}

/** What an action really answers is what the documents of the API say (rules/session-actions#calls-and-answers). */
function demandDescribed(action: string, result: unknown): void {
  if (!isSessionAction(action) || action === "keepalive") return;
  const { error } = SESSION_ACTIONS[action].result.safeParse(result);
  if (error) throw new Error(`the result of ${action} is not as described: ${error.message}`);
}

/** Resolves when the lane has become warm after this call: what was told before, and waited for by nobody, does not count. */
export function laneWarm(peer: FakePeer, lane_idx: number) {
  const before = new Set(peer.frames);
  return peer.nextWhere(
    ["LaneChanged"],
    (frame) =>
      !before.has(frame) &&
      frame.lane.lane_idx === lane_idx &&
      frame.lane.state === "warm" &&
      frame.lane.session_id === null,
  );
}
