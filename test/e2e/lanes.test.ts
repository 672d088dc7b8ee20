import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";
import {
  fdsFallTo,
  hastyClock,
  openFds,
  ownZombies,
  processesOf,
  runDirs,
  type TestPool,
  withPool,
} from "#test/support/rigs/lane-pool.ts";
import { readGreeting } from "#worker/browser/lanes/display.ts";
import type { LaneHold } from "#worker/browser/lanes/pool.ts";
import type { LaneBrowser } from "#worker/browser/lanes/types.ts";
import { findByTag, isAlive, readStat } from "#worker/browser/process/proc.ts";

const OCCUPANT = { job_id: "job1", session_id: "sess1" };
const SLOW_MS = 180_000;
/** `LANE_RESETS=20` in the long form of the suite. */
const RESETS = Number(Bun.env.LANE_RESETS ?? 8);

const take = (pool: TestPool["pool"], lane_idx = 0): LaneHold => {
  const hold = pool.hold(lane_idx, OCCUPANT);
  if (!hold) throw new Error(`lane ${lane_idx} is ${JSON.stringify(pool.lanes()[lane_idx])}`);
  return hold;
};

/** Evaluates in a new page of `browser`. */
async function evaluate(browser: LaneBrowser, url: string, expression: string): Promise<unknown> {
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
function displayPid(data_dir: string): number {
  const xvnc = processesOf(data_dir).find(
    (p) => p.comm.startsWith("Xvnc") || p.comm.startsWith("Xtigervnc"),
  );
  if (!xvnc) throw new Error("no Xvnc");
  return xvnc.pid;
}

describe("profiles in a lane (rules/profiles#profile-of-a-run)", () => {
  test(
    "a browser starts on a seeded directory, keeps its cookies over a restart, and the lane is plain afterwards",
    async () => {
      await withPool({ LANE_POOL: "1", SVC_HEADLESS_LANES: "1" }, async ({ pool }) => {
        const hold = take(pool);
        const first = await hold.browser({
          headless: true,
          seed: async (dir) => writeFileSync(join(dir, "seeded"), "yes"),
        });
        expect(existsSync(join(first.dirs.user_data, "seeded"))).toBe(true);
        const cookie = { name: "a", value: "1", domain: "site.test", expires: 2e9 };
        await first.connection.root.send("Storage.setCookies", { cookies: [cookie] });
        const again = await hold.restart(async (dir) => {
          expect(isAlive(readStat(first.pid))).toBe(false);
          expect(existsSync(join(dir, "Default", "Cookies"))).toBe(true);
        });
        expect(again.dirs).toEqual(first.dirs);
        const { cookies } = await again.connection.root.send("Storage.getCookies", {});
        expect(cookies.map(({ name, value }) => ({ name, value }))).toEqual([
          { name: "a", value: "1" },
        ]);
        await hold.release();
        expect(existsSync(first.dirs.root)).toBe(false);
        expect(pool.lanes()[0]?.state).toBe("warm");
      });
    },
    SLOW_MS,
  );
});

describe("lane pool", () => {
  test(
    "start and stop leave no process, directory, X lock, descriptor or zombie",
    async () => {
      // Loads what stays open for the life of the process.
      await withPool({ LANE_POOL: "1" }, async () => {});
      const fds = openFds();
      await withPool({ LANE_POOL: "2" }, async ({ pool, data_dir, bases }) => {
        expect(pool.lanes().map((l) => [l.state, l.mode])).toEqual([
          ["warm", "headful"],
          ["warm", "headful"],
        ]);
        expect(pool.product).toMatch(/^Chrome\/\d+/);
        expect(pool.capture).toBe("durable");
        expect(processesOf(data_dir).length).toBeGreaterThan(2);
        expect(existsSync(`/tmp/.X${bases.display}-lock`)).toBe(true);
        await pool.close();
        expect(processesOf(data_dir)).toEqual([]);
        expect(runDirs(data_dir)).toEqual([]);
        for (const n of [bases.display, bases.display + 1]) {
          expect(existsSync(`/tmp/.X${n}-lock`)).toBe(false);
          expect(existsSync(`/tmp/.X11-unix/X${n}`)).toBe(false);
        }
      });
      expect(ownZombies()).toEqual([]);
      await fdsFallTo(fds);
    },
    SLOW_MS,
  );

  test(
    "ports and display are the lane's own, on loopback, and the lane greets any number of probes (rules/lanes#ports-of-a-lane)",
    async () => {
      await withPool({ LANE_POOL: "1" }, async ({ bases, data_dir }) => {
        for (let i = 0; i < 20; i += 1) await readGreeting(bases.vnc, 3_000);
        const version = await fetch(`http://127.0.0.1:${bases.cdp}/json/version`).then((r) =>
          r.json(),
        );
        expect(version).toHaveProperty("Browser");
        const listening = [bases.vnc, bases.cdp].map((port) => listenAddresses(port));
        for (const addresses of listening) expect(addresses.every(isLoopback)).toBe(true);
        expect(listening.map((l) => l.length > 0)).toEqual([true, true]);
        expect(readFileSync(`/proc/${displayPid(data_dir)}/limits`, "utf8")).toMatch(
          /Max open files\s+4096/,
        );
      });
    },
    SLOW_MS,
  );

  test(
    `${RESETS} resets in a row: a new browser each time, the same display, nothing left behind`,
    async () => {
      await withPool({ LANE_POOL: "1" }, async ({ pool, data_dir }) => {
        const xvnc = displayPid(data_dir);
        const pids = new Set<number>();
        let fds_after_first = 0;
        for (let i = 0; i < RESETS; i += 1) {
          const hold = take(pool);
          const browser = await hold.browser({ headless: false });
          pids.add(browser.pid);
          await hold.release();
          expect(existsSync(browser.dirs.root)).toBe(false);
          expect(runDirs(data_dir)).toHaveLength(1);
          if (i === 0) fds_after_first = openFds();
        }
        expect(pids.size).toBe(RESETS);
        expect(displayPid(data_dir)).toBe(xvnc);
        await fdsFallTo(fds_after_first);
        expect(ownZombies()).toEqual([]);
      });
    },
    SLOW_MS,
  );

  test(
    "the page of a lane sees a screen of 1920x1080, and its window fills it to the pixel (rules/lanes#resolution)",
    async () => {
      const screen =
        "[screen.width, screen.height, screenX, screenY, outerWidth, outerHeight].join()";
      await withPool({ LANE_POOL: "1" }, async ({ pool }) => {
        const hold = take(pool);
        expect(
          await evaluate(await hold.browser({ headless: false }), "data:text/html,x", screen),
        ).toBe("1920,1080,0,0,1920,1080");
        expect(
          await evaluate(await hold.browser({ headless: true }), "data:text/html,x", screen),
        ).toBe("1920,1080,0,0,1920,1080");
        await hold.release();
      });
    },
    SLOW_MS,
  );

  test(
    "two lanes at once share nothing, and neither does a lane with its next job",
    async () => {
      const server = Bun.serve({
        port: 0,
        fetch: () => new Response("<p>x", { headers: { "Content-Type": "text/html" } }),
      });
      const url = `http://127.0.0.1:${server.port}/`;
      const write =
        "document.cookie = 'who=me; max-age=999'; localStorage.setItem('who', 'me'); document.cookie";
      const read = "document.cookie + '|' + localStorage.getItem('who')";
      await withPool({ LANE_POOL: "2" }, async ({ pool }) => {
        const [a, b] = [take(pool, 0), take(pool, 1)];
        const [one, two] = await Promise.all([
          a.browser({ headless: false }),
          b.browser({ headless: false }),
        ]);
        expect(await evaluate(one, url, write)).toBe("who=me");
        expect(await evaluate(one, url, read)).toBe("who=me|me");
        expect(await evaluate(two, url, read)).toBe("|null");
        await Promise.all([a.release(), b.release()]);
        const next = take(pool, 0);
        expect(await evaluate(await next.browser({ headless: false }), url, read)).toBe("|null");
        await next.release();
      });
      await server.stop(true);
    },
    SLOW_MS,
  );

  test(
    "a page finds no permission decided, and a PDF is a download",
    async () => {
      const server = Bun.serve({
        port: 0,
        fetch: (req) =>
          req.url.endsWith(".pdf")
            ? new Response("%PDF-1.4\n", { headers: { "Content-Type": "application/pdf" } })
            : new Response("<p>x", { headers: { "Content-Type": "text/html" } }),
      });
      const url = `http://127.0.0.1:${server.port}/`;
      await withPool({ LANE_POOL: "1" }, async ({ pool }) => {
        const hold = take(pool);
        const browser = await hold.browser({ headless: false });
        expect(await evaluate(browser, url, "Notification.permission")).toBe("default");
        const { root } = browser.connection;
        const download = new Promise<string>((resolve) => {
          root.on("Browser.downloadWillBegin", (event) => resolve(event.url));
        });
        const downloadPath = browser.dirs.downloads;
        await root.send("Browser.setDownloadBehavior", {
          behavior: "allowAndName",
          downloadPath,
          eventsEnabled: true,
        });
        await root.send("Target.createTarget", { url: `${url}a.pdf` });
        expect(await download).toBe(`${url}a.pdf`);
        await hold.release();
      });
      await server.stop(true);
    },
    SLOW_MS,
  );

  test(
    "a headless job on a headful lane gets headless Chromium; afterwards the lane is headful",
    async () => {
      await withPool({ LANE_POOL: "1" }, async ({ pool, data_dir }) => {
        const hold = take(pool);
        const browser = await hold.browser({ headless: true });
        expect([browser.headless, pool.lanes()[0]?.mode]).toEqual([true, "headless"]);
        expect(readFileSync(`/proc/${browser.pid}/cmdline`, "latin1")).toContain(
          "--ozone-platform=headless",
        );
        expect(runDirs(data_dir)).toHaveLength(1);
        await hold.release();
        expect(pool.lanes()[0]).toMatchObject({ state: "warm", mode: "headful", job_id: null });
      });
    },
    SLOW_MS,
  );

  test(
    "headless lanes run without a display, whatever the job asks for",
    async () => {
      await withPool({ LANE_POOL: "1", SVC_HEADLESS_LANES: "1" }, async ({ pool, data_dir }) => {
        expect(() => displayPid(data_dir)).toThrow("no Xvnc");
        const hold = take(pool);
        expect((await hold.browser({ headless: false })).headless).toBe(true);
        await hold.release();
        expect(pool.lanes()[0]).toMatchObject({ state: "warm", mode: "headless" });
      });
    },
    SLOW_MS,
  );

  test(
    "a large body crosses the pipe byte for byte",
    async () => {
      await withPool({ LANE_POOL: "1", SVC_HEADLESS_LANES: "1" }, async ({ pool }) => {
        const hold = take(pool);
        const text = await evaluate(
          await hold.browser({ headless: true }),
          "data:text/html,x",
          "Array.from({length: 1e6}, (_, i) => 'é' + i + '🚢').join('')",
        );
        expect(text).toBe(Array.from({ length: 1e6 }, (_, i) => `é${i}🚢`).join(""));
        await hold.release();
      });
    },
    SLOW_MS,
  );
});

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
        await readGreeting(bases.vnc, 3_000);
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
        await readGreeting(bases.vnc, 3_000);
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
        await Promise.all([browser.kill(), browser.kill()]);
        expect(await browser.exited).toMatchObject({ code: 0, signal: null });
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

test("a missing Xvnc or Chromium is reported with its Debian package before anything is started", async () => {
  const noXvnc = await withPool(
    { PATH: "/nowhere", SVC_CHROMIUM: "/bin/true" },
    async () => {},
  ).catch((e) => e);
  expect(noXvnc).toMatchObject({
    name: "MissingProgramError",
    packages: expect.arrayContaining(["tigervnc-standalone-server"]),
  });
  expect(errorMessage(noXvnc)).toContain("--headless-lanes");
  const noBrowser = await withPool({ PATH: "/nowhere" }, async () => {}).catch((e) => e);
  // One command is enough: it names all that is missing.
  expect(noBrowser).toMatchObject({
    name: "MissingProgramError",
    packages: expect.arrayContaining(["chromium", "tigervnc-standalone-server"]),
  });
});

/** The browser process of the only lane: Chromium that leads its session. */
function chromiumPid(data_dir: string): number {
  const leader = processesOf(data_dir).find(
    (p) => p.comm.startsWith("chrom") && p.session === p.pid,
  );
  if (!leader) throw new Error("no Chromium");
  return leader.pid;
}

/** Local addresses, as /proc writes them, that something listens on at `port`. */
function listenAddresses(port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const LISTEN = "0A";
  return ["tcp", "tcp6"].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === LISTEN && fields[1]?.endsWith(`:${hex}`))
      .map((fields) => fields[1]?.split(":")[0] ?? ""),
  );
}

const isLoopback = (hex: string): boolean => hex === "0100007F" || /^0{24}01000000$/.test(hex);
