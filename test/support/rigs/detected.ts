import { rmSync } from "node:fs";
import { chromium } from "playwright-core";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import type { DetectorSite, Seen } from "../servers/detector-site.ts";
import { chromiumPath } from "./chromium.ts";
import { makeDataDir } from "./lane-pool.ts";
import { laneWarm, startSessionRig } from "./session-rig.ts";
import { assignment } from "./worker-rig.ts";

/** What detectors see of the same Chromium, steered by nobody, by Playwright, and in a lane. */

/** In a browser that nobody and nothing steers. */
export async function seenInPlain(site: DetectorSite): Promise<Seen> {
  const dir = makeDataDir();
  const flags = ["--no-sandbox", "--no-first-run", "--ozone-platform=headless"];
  const graphics = "--use-angle=swiftshader-webgl";
  const browser = Bun.spawn(
    [chromiumPath(), ...flags, graphics, `--user-data-dir=${dir}`, site.url],
    { stdout: "ignore", stderr: "ignore" },
  );
  try {
    return await site.seenBy(async () => {});
  } finally {
    browser.kill();
    await browser.exited;
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

export async function seenWithPlaywright(site: DetectorSite): Promise<Seen> {
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox"] });
  try {
    return await site.seenBy(async () => (await browser.newPage()).goto(site.url));
  } finally {
    await browser.close();
  }
}

/** In a fetch job and in a session of a lane whose worker has these variables. */
export async function seenInLanes(
  site: DetectorSite,
  env: Record<string, string>,
): Promise<{ job: Seen; session: Seen }> {
  const rig = await startSessionRig(env);
  try {
    const warm = laneWarm(rig.peer, 0);
    const job = await site.seenBy(async () => {
      rig.peer.send({
        ...assignment("looks", 0, 900),
        url: site.url,
        options: JobOptions.parse({ idle_seconds: 0.5 }),
      });
      await warm;
    });
    const session = await site.seenBy(() => rig.open({ url: site.url }));
    return { job, session };
  } finally {
    await rig.close();
  }
}
