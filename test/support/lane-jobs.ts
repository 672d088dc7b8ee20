import { rmSync } from "node:fs";
import { systemClock } from "#shared/clock.ts";
import { silentLog } from "#shared/log.ts";
import { laneEnv, makeDataDir } from "#test/support/lane-pool.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { createLanePool } from "#worker/lanes/pool.ts";
import type { LaneBrowser } from "#worker/lanes/types.ts";
import { type FetchRequest, type FetchResult, runFetchJob } from "./fetch-rig.ts";

/** A lane of a real pool that runs fetch jobs, one after the other. */
export interface JobLane {
  /** Runs a job on a fresh browser and resets the lane; rejects when the lane does not come back warm. */
  run(
    request: FetchRequest & {
      headless?: boolean;
      onBrowser?: (browser: LaneBrowser) => void;
      /** Passes the browser off as another one. */
      adapt?: (browser: LaneBrowser) => LaneBrowser;
    },
  ): Promise<FetchResult>;
  close(): Promise<void>;
}

export async function openJobLane(env: Record<string, string> = {}): Promise<JobLane> {
  const data_dir = makeDataDir();
  const config = loadWorkerConfig(laneEnv(data_dir, { LANE_POOL: "1", ...env }), {});
  const pool = await createLanePool({ config, log: silentLog, clock: systemClock });
  return {
    run: async ({ headless = true, onBrowser, adapt = (browser) => browser, ...request }) => {
      const hold = pool.hold(0, { job_id: "job1", session_id: "session1" });
      if (!hold) throw new Error(`the lane is not free: ${JSON.stringify(pool.lanes())}`);
      const work = async () => {
        const browser = await hold.browser({ headless });
        onBrowser?.(browser);
        return runFetchJob(adapt(browser), request);
      };
      const result = await work().finally(() => hold.release());
      const [lane] = pool.lanes();
      if (lane?.state !== "warm") throw new Error(`not warm again: ${JSON.stringify(lane)}`);
      return result;
    },
    close: async () => {
      await pool.close();
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}
