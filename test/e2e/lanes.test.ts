import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";
import { isAlive, readStat } from "#shared/kit/proc.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import {
  fdsFallTo,
  noZombie,
  openFds,
  processesOf,
  runDirs,
  withPool,
} from "#test/support/rigs/lane-pool.ts";
import { displayPid, evaluate, take } from "#test/support/rigs/lane-processes.ts";
import { readGreeting } from "#worker/browser/lanes/display.ts";

const SLOW_MS = 180_000;
/** `LANE_RESETS=20` in the long form of the suite. */
const RESETS = Number(Bun.env.LANE_RESETS ?? 8);

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
      await noZombie();
      await fdsFallTo(fds);
    },
    SLOW_MS,
  );

  test(
    "ports and display are the lane's own, on loopback, and the lane greets any number of probes (rules/lanes#ports-of-a-lane)",
    async () => {
      await withPool({ LANE_POOL: "1" }, async ({ bases, data_dir }) => {
        for (let i = 0; i < 20; i += 1) await readGreeting(bases.vnc, 60_000);
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
        await noZombie();
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
        for (const headless of [false, true]) {
          const browser = await hold.browser({ headless });
          // A page hears of the size of its window after the window has it.
          await until(`a page of the whole screen, headless ${headless}`, 60_000, async () => {
            const seen = await evaluate(browser, "data:text/html,x", screen);
            return seen === "1920,1080,0,0,1920,1080";
          });
        }
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
