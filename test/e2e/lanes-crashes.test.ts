import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { isAlive, readStat } from "#shared/kit/proc.ts";
import { hastyClock, runDirs, withPool } from "#test/support/rigs/lane-pool.ts";
import {
  chromiumPid,
  displayPid,
  evaluate,
  OCCUPANT,
  take,
} from "#test/support/rigs/lane-processes.ts";
import { readGreeting } from "#worker/browser/lanes/display.ts";
import { findByTag } from "#worker/browser/process/tagged.ts";

const SLOW_MS = 180_000;

describe("crashes", () => {
  test(
    "kill -9 of an idle Chromium: the lane is warm again with a new one",
    async () => {
      await withPool({ LANE_POOL: "1" }, async ({ pool, next, data_dir }) => {
        const first = chromiumPid(data_dir);
        const [recycling, warm] = [next(0, "recycling"), next(0, "warm")];
        process.kill(first, "SIGKILL");
        expect((await recycling).reason).toContain("SIGKILL");
        await warm;
        expect(chromiumPid(data_dir)).not.toBe(first);
        expect(runDirs(data_dir)).toHaveLength(1);
        const hold = take(pool);
        expect(
          await evaluate(await hold.browser({ headless: false }), "data:text/html,x", "1 + 1"),
        ).toBe(2);
        await hold.release();
      });
    },
    SLOW_MS,
  );

  test(
    "kill -9 of Chromium under a job: the job sees the exit, its spool stays until release",
    async () => {
      await withPool({ LANE_POOL: "1" }, async ({ pool, data_dir }) => {
        const hold = take(pool);
        const browser = await hold.browser({ headless: false });
        const pending = browser.connection.root
          .send("Target.createTarget", { url: "about:blank" })
          .catch(() => "refused");
        process.kill(browser.pid, "SIGKILL");
        expect((await browser.exited).signal).toBe("SIGKILL");
        await pending;
        await browser.connection.closed;
        expect(existsSync(browser.dirs.spool)).toBe(true);
        expect(pool.lanes()[0]?.state).toBe("running");
        await hold.release();
        expect(existsSync(browser.dirs.root)).toBe(false);
        expect(findByTag(() => false, [browser.pid]).filter(isAlive)).toEqual([]);
        expect(pool.lanes()[0]?.state).toBe("warm");
        expect(runDirs(data_dir)).toHaveLength(1);
      });
    },
    SLOW_MS,
  );

  test(
    "kill -9 of Xvnc on an idle lane: display and browser come back",
    async () => {
      await withPool({ LANE_POOL: "1" }, async ({ pool, next, data_dir, bases }) => {
        const [xvnc, chromium] = [displayPid(data_dir), chromiumPid(data_dir)];
        const warm = next(0, "warm");
        process.kill(xvnc, "SIGKILL");
        await warm;
        expect(displayPid(data_dir)).not.toBe(xvnc);
        expect(isAlive(readStat(chromium))).toBe(false);
        await readGreeting(bases.vnc, 60_000);
        const hold = take(pool);
        expect(
          await evaluate(await hold.browser({ headless: false }), "data:text/html,x", "1 + 1"),
        ).toBe(2);
        await hold.release();
      });
    },
    SLOW_MS,
  );

  test(
    "kill -9 of Xvnc under a job: the browser ends, and the lane is whole after release",
    async () => {
      await withPool({ LANE_POOL: "1" }, async ({ pool, data_dir, bases }) => {
        const hold = take(pool);
        const browser = await hold.browser({ headless: false });
        process.kill(displayPid(data_dir), "SIGKILL");
        await browser.exited;
        await hold.release();
        expect(pool.lanes()[0]).toMatchObject({ state: "warm", mode: "headful" });
        await readGreeting(bases.vnc, 60_000);
      });
    },
    SLOW_MS,
  );

  test(
    "a Chromium that answers no ping is ended and replaced",
    async () => {
      await withPool(
        { LANE_POOL: "1", SVC_HEADLESS_LANES: "1" },
        async ({ next, data_dir }) => {
          const first = chromiumPid(data_dir);
          const warm = next(0, "warm");
          process.kill(first, "SIGSTOP");
          await warm;
          expect(isAlive(readStat(first))).toBe(false);
          expect(chromiumPid(data_dir)).not.toBe(first);
        },
        hastyClock,
      );
    },
    SLOW_MS,
  );

  test(
    "a stopped Chromium does not keep kill() from ending it",
    async () => {
      await withPool({ LANE_POOL: "1", SVC_HEADLESS_LANES: "1" }, async ({ pool }) => {
        const hold = take(pool);
        const browser = await hold.browser({ headless: true });
        process.kill(browser.pid, "SIGSTOP");
        await browser.kill();
        expect((await browser.exited).signal).toBe("SIGKILL");
        expect(existsSync(browser.dirs.root)).toBe(false);
        await hold.release();
        expect(pool.lanes()[0]?.state).toBe("warm");
      });
    },
    SLOW_MS,
  );

  test(
    "a healthy Chromium ends on request with exit code 0",
    async () => {
      await withPool({ LANE_POOL: "1" }, async ({ pool }) => {
        const hold = take(pool);
        const browser = await hold.browser({ headless: false });
        const began = performance.now();
        await Promise.all([browser.kill(), browser.kill()]);
        const { code, signal } = await browser.exited;
        // It has 2 s to go by itself, which is not enough where everything takes longer.
        const was_slow = performance.now() - began >= 2_000;
        expect({ code, signal }).toEqual(
          was_slow && signal !== null ? { code, signal: "SIGKILL" } : { code: 0, signal: null },
        );
        await hold.release();
      });
    },
    SLOW_MS,
  );

  test(
    "a lane whose ports are taken is quarantined with the variable to change, and others work",
    async () => {
      const blocker = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
      const env = {
        LANE_POOL: "1",
        SVC_HEADLESS_LANES: "1",
        SVC_CDP_PORT_BASE: String(blocker.port),
      };
      await withPool(env, async ({ pool, data_dir }) => {
        expect(pool.lanes()[0]).toMatchObject({ state: "quarantined" });
        expect(pool.lanes()[0]?.reason).toContain("SVC_CDP_PORT_BASE");
        expect(pool.hold(0, OCCUPANT)).toBeNull();
        expect(runDirs(data_dir)).toEqual([]);
      });
      blocker.stop(true);
    },
    SLOW_MS,
  );

  test(
    "a browser that is no browser leaves the lane quarantined with its last words",
    async () => {
      const env = { LANE_POOL: "1", SVC_HEADLESS_LANES: "1", SVC_CHROMIUM: "/bin/false" };
      await withPool(env, async ({ pool }) => {
        expect(pool.lanes()[0]).toMatchObject({
          state: "quarantined",
          reason: expect.stringContaining("exited with 1"),
        });
        expect(pool.product).toBe("unknown");
      });
    },
    SLOW_MS,
  );
});
