import { rmSync } from "node:fs";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";
import { createLanePool } from "#worker/browser/lanes/pool.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { createEgress } from "#worker/egress/egress.ts";
import type { Resolve } from "#worker/egress/judge.ts";
import { egressSettings } from "#worker/egress/settings.ts";
import { type FetchRequest, type FetchResult, runFetchJob } from "./fetch-rig.ts";
import { laneEnv, makeDataDir } from "./lane-pool.ts";

/**
 * Lanes of real pools that run fetch jobs, one after the other: one without a display, and, from the first headful job on,
 * one with. Each has its kind of browser warm; that a lane changes between the two is tested with the lanes.
 */
export interface JobLane {
  /** Runs a job on a fresh browser and resets the lane; rejects when the lane does not come back warm. */
  run(
    request: FetchRequest & {
      headless?: boolean;
      onBrowser?: (browser: LaneBrowser) => void;
      /** Passes the browser off as another one. */
      adapt?: (browser: LaneBrowser) => LaneBrowser | Promise<LaneBrowser>;
    },
  ): Promise<FetchResult>;
  close(): Promise<void>;
}

/** @param ask resolves names in the place of the machine's own resolver */
export async function openJobLane(
  env: Record<string, string> = {},
  ask?: Resolve,
): Promise<JobLane> {
  const open = async (headless: boolean) => {
    const data_dir = makeDataDir();
    const kind = { SVC_HEADLESS_LANES: headless ? "1" : "0" };
    const config = loadWorkerConfig(laneEnv(data_dir, { LANE_POOL: "1", ...kind, ...env }), {});
    const log = silentLog;
    const clock = systemClock;
    const egress = createEgress(egressSettings(config), { clock, log, ...(ask && { ask }) });
    const pool = await createLanePool({ config, log, clock, egress });
    const close = async () => {
      await pool.close();
      rmSync(data_dir, { recursive: true, force: true });
    };
    return { pool, close };
  };
  const without_display = await open(true);
  let with_display: ReturnType<typeof open> | null = null;
  return {
    run: async ({ headless = true, onBrowser, adapt = (browser) => browser, ...request }) => {
      if (!headless) with_display ??= open(false);
      const { pool } = headless || !with_display ? without_display : await with_display;
      const hold = pool.hold(0, { job_id: "job1", session_id: "session1" });
      if (!hold) throw new Error(`the lane is not free: ${JSON.stringify(pool.lanes())}`);
      const work = async () => {
        const browser = await hold.browser({ headless });
        onBrowser?.(browser);
        return runFetchJob(await adapt(browser), request);
      };
      const result = await work().finally(() => hold.release());
      const [lane] = pool.lanes();
      if (lane?.state !== "warm") throw new Error(`not warm again: ${JSON.stringify(lane)}`);
      return result;
    },
    close: async () => {
      await Promise.all([without_display.close(), with_display?.then(({ close }) => close())]);
    },
  };
}
