import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { laneEnv, makeDataDir } from "#test/support/rigs/lane-pool.ts";
import {
  type Account,
  MESSAGES,
  ROUNDS,
  startWindowSite,
  type WindowSite,
} from "#test/support/servers/site/windows.ts";
import { createLanePool } from "#worker/browser/lanes/pool.ts";
import { loadWorkerConfig } from "#worker/config.ts";

const RUN_MS = 180_000;

let site: WindowSite;
let lane: JobLane;
let plain: Account;
beforeAll(async () => {
  [site, lane] = await Promise.all([startWindowSite(), openJobLane()]);
  plain = await visitPlainly();
}, RUN_MS);
afterAll(async () => {
  await lane.close();
  await site.stop();
});

/** The same Chromium with the same flags, and nobody attached to it. */
async function visitPlainly(): Promise<Account> {
  const data_dir = makeDataDir();
  const env = laneEnv(data_dir, { LANE_POOL: "1", SVC_HEADLESS_LANES: "1" });
  const config = loadWorkerConfig(env, {});
  const pool = await createLanePool({ config, log: silentLog, clock: systemClock });
  try {
    const hold = pool.hold(0, { job_id: "plain", session_id: "plain" });
    const browser = await hold?.browser({ headless: true });
    const account = site.account();
    await browser?.connection.root.send("Target.createTarget", { url: site.url });
    return await account;
  } finally {
    await pool.close();
    rmSync(data_dir, { recursive: true, force: true });
  }
}

describe("a page that opens windows", () => {
  test("hears everything that is said to it where nobody watches", () => {
    expect(Object.keys(plain.heard).sort()).toEqual([
      "frame of cross.localhost",
      "frame of main.localhost",
      "shared worker",
      "worker",
    ]);
    for (const said of Object.values(plain.heard))
      expect(said).toEqual({ count: MESSAGES, in_order: true });
    expect(Object.keys(plain.windows)).toHaveLength(6 * ROUNDS);
  });

  test.each(["fetch", "recipe"])(
    "gives the same account of itself while everything is captured (%s)",
    async (way) => {
      const account = site.account();
      const { assets, outcome, log } = await lane.run({
        url: way === "fetch" ? site.url : `${site.url}not-here`,
        options: { idle_seconds: 3, max_wait_seconds: 150 },
        // Playwright is connected while the page runs.
        extras:
          way === "fetch"
            ? {}
            : { recipe: { actions: [{ kind: "navigate", url: site.url }], timeout_s: 60 } },
      });
      expect(outcome).toMatchObject({ status: "completed", error: null });
      expect(await account).toEqual(plain);
      const held = new Set(assets.map(({ source_url, sha256 }) => `${source_url} ${sha256}`));
      const missing = site.expected.filter(({ url, sha256 }) => !held.has(`${url} ${sha256}`));
      expect({ missing, log: missing.length > 0 ? log : [] }).toEqual({ missing: [], log: [] });
      expect(outcome.capture).toMatchObject({ lost: 0, partial: 0 });
    },
    RUN_MS,
  );
});
