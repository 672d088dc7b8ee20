import { rmSync } from "node:fs";
import { systemClock } from "#shared/clock.ts";
import { newSessionId, newToken } from "#shared/ids.ts";
import type { HubOpenSession, SessionReply } from "#shared/link/messages.ts";
import { silentLog } from "#shared/log.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { type RunningWorker, startWorker } from "#worker/start.ts";
import { FAKE_VERSION, type FakeHub, type FakePeer, startFakeHub } from "./fake-hub.ts";
import { laneEnv, makeDataDir } from "./lane-pool.ts";

/** A whole worker with real browsers, spoken to over its link by a hub that the test plays. */
export interface SessionRig {
  hub: FakeHub;
  peer: FakePeer;
  worker: RunningWorker;
  env: Record<string, string>;
  data_dir: string;
  /** Opens a session on a lane and waits for the answer; rejects when it is refused. */
  open(wish?: Partial<HubOpenSession>): Promise<OpenSession>;
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
  /** Ends it and waits until its lane is warm again. */
  close(): Promise<void>;
}

let tokens = 0;

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
  const worker = await startWorker({
    config: loadWorkerConfig(own, {}),
    log: silentLog,
    clock: systemClock,
    version: FAKE_VERSION,
  });
  const peer = await hub.nextPeer();
  await peer.register();
  return {
    hub,
    peer,
    worker,
    env: own,
    data_dir,
    open: (wish) => openSession(peer, wish),
    close: async () => {
      await worker.stop();
      await hub.stop();
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}

async function openSession(
  peer: FakePeer,
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
    ...callsOf(peer, session_id),
    close: async () => {
      const warm = laneWarm(peer, lane_idx);
      peer.send({ type: "HubCloseSession", session_id, lease_token, reason: "closed by the test" });
      await warm;
    },
  };
}

/** Calls of any session the worker has. */
export function callsOf(peer: FakePeer, session_id: string): Pick<OpenSession, "call" | "get"> {
  const call: OpenSession["call"] = async (action, args = {}, timeout_ms = 10_000) => {
    const call_id = newToken();
    const replied = peer.nextWhere(["SessionReply"], (reply) => reply.call_id === call_id);
    peer.send({ type: "HubSessionCall", call_id, session_id, action, args, timeout_ms });
    return replied;
  };
  return {
    call,
    get: async <T>(action: string, args?: Record<string, unknown>, timeout_ms?: number) => {
      const reply = await call(action, args, timeout_ms);
      if (!reply.ok) throw new Error(`${action}: ${reply.kind} ${JSON.stringify(reply.error)}`);
      return reply.result as T;
    },
  };
}

export const laneWarm = (peer: FakePeer, lane_idx: number) =>
  peer.nextWhere(
    ["LaneChanged"],
    ({ lane }) => lane.lane_idx === lane_idx && lane.state === "warm" && lane.session_id === null,
  );
