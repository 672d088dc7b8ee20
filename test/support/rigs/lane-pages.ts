import { rmSync } from "node:fs";
import type { Page } from "playwright-core";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { connectBrowser } from "#worker/browser/actions/connect.ts";
import { createLanePool } from "#worker/browser/lanes/pool.ts";
import { watchBrowser } from "#worker/browser/session/watch.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { laneEnv, makeDataDir } from "./lane-pool.ts";

export interface LanePages {
  /** A tab of the lane's browser, steered as a session steers it. */
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

/** One headless lane in a directory of its own, whose browser is held. */
export async function openLanePages(): Promise<LanePages> {
  const data_dir = makeDataDir();
  const env = laneEnv(data_dir, { LANE_POOL: "1", SVC_HEADLESS_LANES: "1" });
  const config = loadWorkerConfig(env, {});
  const pool = await createLanePool({ config, log: silentLog, clock: systemClock });
  const hold = pool.hold(0, { job_id: "job1", session_id: "session1" });
  const browser = await hold?.browser({ headless: true });
  if (!browser) throw new Error("no browser");
  await watchBrowser({
    connection: browser.connection,
    alone: true,
    only: null,
    refusal: () => null,
    refusalOfAddress: () => null,
    onRefused: () => {},
    onFlood: () => {},
    dialogs: { follow: () => {} },
  });
  const { context, close } = await connectBrowser(browser);
  return {
    newPage: () => context.newPage(),
    close: async () => {
      close();
      await pool.close();
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}
