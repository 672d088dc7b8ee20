import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { systemClock, withDeadline } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { CHROMIUM_FLAGS } from "#test/support/rigs/chromium.ts";
import { lanePorts } from "#test/support/servers/ports.ts";
import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import { pipeTransport } from "#worker/browser/cdp/transport.ts";
import { createLanePool } from "#worker/browser/lanes/pool.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { type Bench, showMs, statsOf, timed } from "./harness.ts";

/** What a lane cannot beat: the same Chromium on the same display, killed and started with a page, nothing else done. */
async function bareRestart(
  chromium: string,
  display: { number: string; authority: string },
  dir: string,
): Promise<() => Promise<void>> {
  const child = spawn(
    chromium,
    ["--remote-debugging-pipe", `--user-data-dir=${dir}`, ...CHROMIUM_FLAGS, "about:blank"],
    {
      env: { ...process.env, DISPLAY: `:${display.number}`, XAUTHORITY: display.authority },
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    },
  );
  const cdp = new CdpConnection(
    pipeTransport(child.stdio[3] as Writable, child.stdio[4] as Readable),
  );
  const pageThere = Promise.withResolvers<void>();
  cdp.root.on("Target.targetCreated", (e) => {
    if (e.targetInfo.type === "page") pageThere.resolve();
  });
  await cdp.root.send("Target.setDiscoverTargets", { discover: true });
  await withDeadline("the first page of Chromium", 20_000, pageThere.promise);
  return async () => {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await withDeadline("the end of Chromium", 20_000, gone);
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
}

export const laneTurnaround: Bench = async ({ runs }) => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-lane-bench-"));
  const config = loadWorkerConfig(
    {
      ...process.env,
      SVC_DATA_DIR: dir,
      LANE_POOL: "1",
      ...lanePorts(),
      HUB_URL: "ws://127.0.0.1:1",
    },
    {},
  );
  const pool = await createLanePool({ config, log: silentLog, clock: systemClock });
  const number = String(config.lanes.display_base);
  const display = { number, authority: join(dir, "lanes", `xauthority-${number}`) };
  const lane: number[] = [];
  const bare: number[] = [];
  try {
    for (let i = 0; i < runs; i += 1) {
      const hold = pool.hold(0, { job_id: `bench${i}`, session_id: `bench${i}` });
      if (!hold) throw new Error("lane 0 is not warm");
      await hold.browser({ headless: false });
      lane.push((await timed(() => hold.release())).ms);
      let stop = await bareRestart("/usr/bin/chromium", display, join(dir, `bare${i}a`));
      bare.push(
        (
          await timed(async () => {
            await stop();
            stop = await bareRestart("/usr/bin/chromium", display, join(dir, `bare${i}b`));
          })
        ).ms,
      );
      await stop();
    }
  } finally {
    await pool.close();
    rmSync(dir, { recursive: true, force: true });
  }
  const l = statsOf(lane);
  const b = statsOf(bare);
  return [
    {
      bench: "lane-turnaround",
      metric: "job end → lane offered again",
      value: showMs(l),
      reference: `bare Chromium restart ${showMs(b)}`,
      ratio: l.median / b.median,
      target: "≤ 1.50",
    },
  ];
};
