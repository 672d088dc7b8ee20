import { processesOf, type TestPool } from "#test/support/rigs/lane-pool.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";
import type { LaneHold } from "#worker/browser/lanes/pool.ts";

export const OCCUPANT = { job_id: "job1", session_id: "sess1" };

/** The lane, which must be warm. */
export const take = (pool: TestPool["pool"], lane_idx = 0): LaneHold => {
  const hold = pool.hold(lane_idx, OCCUPANT);
  if (!hold) throw new Error(`lane ${lane_idx} is ${JSON.stringify(pool.lanes()[lane_idx])}`);
  return hold;
};

/** Evaluates in a new page of `browser`. */
export async function evaluate(
  browser: LaneBrowser,
  url: string,
  expression: string,
): Promise<unknown> {
  const { root } = browser.connection;
  const { targetId } = await root.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await root.send("Target.attachToTarget", { targetId, flatten: true });
  const page = browser.connection.session(sessionId);
  if (!page) throw new Error("the page is gone");
  const loaded = Promise.withResolvers<void>();
  page.on("Page.loadEventFired", () => loaded.resolve());
  await page.send("Page.enable");
  await page.send("Page.navigate", { url });
  await loaded.promise;
  const { result } = await page.send("Runtime.evaluate", { expression, returnByValue: true });
  await root.send("Target.closeTarget", { targetId });
  return result.value;
}

/** The X server of a lane, by its command line. */
export function displayPid(data_dir: string): number {
  const xvnc = processesOf(data_dir).find(
    (p) => p.comm.startsWith("Xvnc") || p.comm.startsWith("Xtigervnc"),
  );
  if (!xvnc) throw new Error("no Xvnc");
  return xvnc.pid;
}

/** The browser process of the only lane: Chromium that leads its session. */
export function chromiumPid(data_dir: string): number {
  const leader = processesOf(data_dir).find(
    (p) => p.comm.startsWith("chrom") && p.session === p.pid,
  );
  if (!leader) throw new Error("no Chromium");
  return leader.pid;
}
