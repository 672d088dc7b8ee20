import { rmSync } from "node:fs";
import type { HubSession } from "#hub/fleet/sessions/hub-session.ts";
import { dropSession } from "#hub/fleet/sessions/registry.ts";
import { systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { createLog } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { newSessionId } from "#shared/protocol/ids.ts";
import { HEARTBEAT_INTERVAL_MS } from "#shared/protocol/limits.ts";
import { type Bridges, startBridges } from "#worker/browser/bridge/bridge.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";
import { createLanePool, type LanePool } from "#worker/browser/lanes/pool.ts";
import { createCdpClients } from "#worker/browser/session/cdp-clients.ts";
import {
  createSessions,
  type LiveSession,
  type Sessions,
} from "#worker/browser/session/live-session.ts";
import { createSessionFiles } from "#worker/browser/session/session-files.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { createJudge } from "#worker/egress/judge.ts";
import { egressSettings } from "#worker/egress/settings.ts";
import type { FakeWorker } from "../fakes/fake-worker.ts";
import { addLiveSession } from "../fakes/live-session.ts";
import { startTestHub, type TestHub } from "./hub.ts";
import { laneEnv, makeDataDir } from "./lane-pool.ts";

/** A session that hub and worker both know, without the messages that would open it. */
export interface RigSession {
  session_id: string;
  hub: HubSession;
  live: LiveSession;
  browser: LaneBrowser;
  /** `/sessions/<id>` of the hub. */
  url: string;
  /** Ends it on the hub, then on the worker; the lane is free again. */
  end(reason: string): Promise<void>;
}

/** A real hub, real lanes and their bridges; only the worker's link is a fake. */
export interface ViewerRig {
  hub: TestHub;
  worker: FakeWorker;
  pool: LanePool;
  sessions: Sessions;
  bridges: Bridges;
  config: ReturnType<typeof loadWorkerConfig>;
  /** What the worker wrote. */
  log: Record<string, unknown>[];
  open(options?: { lane_idx?: number; headless?: boolean }): Promise<RigSession>;
  close(): Promise<void>;
}

export async function startViewerRig(env: EnvSource = {}): Promise<ViewerRig> {
  const data_dir = makeDataDir();
  const config = loadWorkerConfig(laneEnv(data_dir, { LANE_POOL: "1", ...env }), {});
  const log: Record<string, unknown>[] = [];
  const workerLog = createLog("debug", (line) => log.push(JSON.parse(line)));
  const sessions = createSessions();
  const pool = await createLanePool({ config, log: workerLog, clock: systemClock });
  const hub = await startTestHub();
  const count = config.lanes.count;
  const worker = await hub.worker({
    lanes: count,
    address: "127.0.0.1",
    capabilities: {
      max_concurrent: count,
      lane_novnc_urls: Array.from(
        { length: count },
        (_, i) => `http://localhost:${config.novnc.base_port + i}/`,
      ),
      novnc_url: null,
      browser: pool.product,
      capture: pool.capture,
    },
  });
  const link = hub.ctx.links.get(worker.worker_id);
  if (!link) throw new Error("the worker is not registered");
  // A silent worker is dropped after two minutes, and files of tests take longer.
  const beats = startLoop({
    name: "heartbeats",
    everyMs: HEARTBEAT_INTERVAL_MS,
    clock: systemClock,
    log: workerLog,
    pass: async () => worker.heartbeat(),
  });
  const guard = createJudge({ navigation_block: [], own_ports: egressSettings(config).lane_ports });
  const bridges = await startBridges({
    host: "127.0.0.1",
    base_port: config.novnc.base_port,
    vnc_port_base: config.lanes.vnc_port_base,
    cdp_port_base: config.lanes.cdp_port_base,
    lanes: count,
    sessions,
    headless: config.lanes.headless,
    clock: systemClock,
    refusalOfUrl: guard.refusalOfUrl,
    resizeScreen: pool.resizeScreen,
    vncSecret: pool.vncSecret,
    token: () => link.upload_token,
    log: workerLog,
  });
  const ends: (() => Promise<void>)[] = [];

  const open: ViewerRig["open"] = async ({ lane_idx = 0, headless = false } = {}) => {
    const session_id = newSessionId();
    const hold = pool.hold(lane_idx, { job_id: "", session_id });
    if (!hold) throw new Error(`lane ${lane_idx} is not free`);
    const browser = await hold.browser({ headless });
    const over = new AbortController();
    const files = createSessionFiles({
      root: () => browser.dirs.root,
      downloads: { listDownloads: () => [], openDownload: () => null },
    });
    const live: LiveSession = {
      session_id,
      lane_idx,
      lease_token: 1,
      job_id: null,
      hold,
      browser: () => browser,
      files,
      clients: createCdpClients(systemClock),
      activeTarget: () => null,
      replaceBrowser: () => Promise.reject(new Error("not in this rig")),
      signal: over.signal,
      end: (why) => over.abort(why),
    };
    const remove = sessions.add(live);
    const session = await addLiveSession(hub.ctx, { link, session_id, lane_idx, headless });
    let ended: Promise<void> | undefined;
    const end = async (reason: string) => {
      await dropSession(hub.ctx, session, reason);
      remove();
      over.abort(new Error(reason));
      await hold.release();
    };
    const once = (reason: string) => (ended ??= end(reason));
    ends.push(() => once("the test is over"));
    return {
      session_id,
      hub: session,
      live,
      browser,
      url: `${hub.url}/sessions/${session_id}`,
      end: once,
    };
  };

  return {
    hub,
    worker,
    pool,
    sessions,
    bridges,
    config,
    log,
    open,
    close: async () => {
      for (const end of ends) await end();
      await beats.stop();
      await hub.close();
      await bridges.close();
      await pool.close();
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}
