import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { cp, readdir, rename, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { normalPath } from "#shared/archive/profile-shape.ts";
import { readTar } from "#shared/archive/read-tar.ts";
import { chunksOf, streamOf } from "#shared/archive/streams.ts";
import { writeTarGz } from "#shared/archive/write-tar.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { listTarGz, makeTarGz } from "#test/support/clients/tar.ts";
import { laneEnv, makeDataDir } from "#test/support/rigs/lane-pool.ts";
import { type ProfileHub, startProfileHub } from "#test/support/rigs/profile-hub.ts";
import { type LoginSite, startLoginSite } from "#test/support/servers/site/login.ts";
import type { LaneBrowser } from "#worker/browser/lanes/lane-browser.ts";
import { createLanePool, type LaneHold, type LanePool } from "#worker/browser/lanes/pool.ts";
import { openProfileCache, type ProfileCache } from "#worker/browser/profile/cache.ts";
import { cloneProfile, findProfile } from "#worker/browser/profile/clone.ts";
import { applyProfile, type SeededProfile } from "#worker/browser/profile/profiles.ts";
import { saveProfile } from "#worker/browser/profile/save.ts";
import { loadWorkerConfig } from "#worker/config.ts";

const WAIT = 180_000;
const data_dir = makeDataDir();
const signal = new AbortController().signal;
let site: LoginSite;
let hub: ProfileHub;
let pool: LanePool;
let cache: ProfileCache;

beforeAll(async () => {
  site = await startLoginSite("login.localhost");
  hub = startProfileHub();
  cache = await openProfileCache({
    dir: join(data_dir, "profiles"),
    max_bytes: 1e9,
    clock: systemClock,
    log: silentLog,
  });
  const config = loadWorkerConfig(
    laneEnv(data_dir, { LANE_POOL: "1", SVC_HEADLESS_LANES: "1" }),
    {},
  );
  pool = await createLanePool({ config, log: silentLog, clock: systemClock });
}, WAIT);
afterAll(async () => {
  await pool?.close();
  await hub?.stop();
  await site?.stop();
  rmSync(data_dir, { recursive: true, force: true });
}, WAIT);

const take = (): LaneHold => {
  const hold = pool.hold(0, { job_id: "job1", session_id: "session1" });
  if (!hold) throw new Error("the lane is not free");
  return hold;
};

/** A lane's browser for as long as `use` runs; afterwards the lane is plain again. */
async function withLane<T>(
  profile: SeededProfile | null,
  use: (browser: LaneBrowser, hold: LaneHold, said: string[]) => Promise<T>,
): Promise<T> {
  const hold = take();
  const said: string[] = [];
  try {
    const wish = { headless: true, ...(profile ? { seed: profile.seed } : {}) };
    const browser = await hold.browser(wish);
    await profile?.settle(browser, (level, message) => said.push(`${level} ${message}`));
    return await use(browser, hold, said);
  } finally {
    await hold.release();
  }
}

/** What the hub makes of an upload. */
async function normal(archive: Uint8Array): Promise<Uint8Array> {
  const limits = { max_unpacked_bytes: 1e9, max_entries: 1e5 };
  const files = async function* () {
    for await (const file of readTar(
      chunksOf(new Blob([new Uint8Array(archive)]).stream()),
      limits,
    ))
      if (normalPath("Default", file.path)) yield file;
  };
  return new Response(streamOf(writeTarGz(files()))).bytes();
}

/** Opens `url` in a tab of its own and gives what the page says. */
async function visit(browser: LaneBrowser, url: string, code = "document.body.innerText") {
  const { connection } = browser;
  const { targetId } = await connection.root.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await connection.root.send("Target.attachToTarget", {
    targetId,
    flatten: true,
  });
  const page = connection.session(sessionId);
  if (!page) throw new Error("no page session");
  await page.send("Page.enable");
  const loads = async (act: () => Promise<unknown>) => {
    const loaded = new Promise<void>((resolve) => {
      const stop = page.on("Page.loadEventFired", () => {
        stop();
        resolve();
      });
    });
    await act();
    await loaded;
  };
  const evaluate = async (expression: string) =>
    (await page.send("Runtime.evaluate", { expression, returnByValue: true })).result.value;
  await loads(() => page.send("Page.navigate", { url }));
  return { text: String(await evaluate(code)), evaluate, loads };
}

test(
  "a login made in a session is saved, used by a later run, and gone from the one after (rules/profiles#profile-of-a-run)",
  async () => {
    const archive = await withLane(null, async (browser, hold) => {
      const form = await visit(browser, `${site.origin}/login`);
      await form.loads(() =>
        form.evaluate(
          `document.querySelector("#user").value = ${JSON.stringify(site.user)};
           document.querySelector("#password").value = ${JSON.stringify(site.password)};
           localStorage.setItem("kept", "yes"); document.querySelector("#submit").click()`,
        ),
      );
      expect(await form.evaluate("document.body.innerText")).toContain(`hello ${site.user}`);
      const saved = await saveProfile({
        session_id: "session1",
        name: "work",
        hold,
        browser,
        hub: hub.files,
        timeout_ms: 60_000,
        signal,
      });
      expect(saved.error).toBeNull();
      // The person goes on: tabs are back, the session cookie too.
      const { targetInfos } = await saved.browser.connection.root.send("Target.getTargets");
      const urls = targetInfos.filter((t) => t.type === "page").map((t) => t.url);
      expect(urls).toContain(`${site.origin}/private`);
      expect((await visit(saved.browser, `${site.origin}/private`)).text).toContain("hello");
      const [sent] = hub.taken;
      if (!sent) throw new Error("nothing was sent");
      return sent;
    });
    const files = Object.keys(await listTarGz(archive));
    expect(files).toContain("Default/flotilla-cookies.json");
    expect(files).toContain("Default/Preferences");
    expect(files).toContain("Local State");
    expect(files.filter((name) => /Cache|Singleton|Sessions\//.test(name))).toEqual([]);

    const profile = applyProfile(
      cache,
      hub.offer("work", await normal(archive)),
      hub.files,
      signal,
    );
    const user_data = await withLane(profile, async (browser, _hold, said) => {
      const page = await visit(browser, `${site.origin}/private`);
      expect(page.text).toContain(`hello ${site.user}`);
      expect(await page.evaluate(`localStorage.getItem("kept")`)).toBe("yes");
      expect(said).toEqual(["info profile work: 1 cookies"]);
      return browser.dirs.user_data;
    });
    expect(existsSync(user_data)).toBe(false);
    expect(cache.names()).toEqual(["work"]);

    await withLane(null, async (browser) => {
      const page = await visit(browser, `${site.origin}/private`, "location.pathname");
      expect(page.text).toBe("/login");
      expect(await page.evaluate(`localStorage.getItem("kept")`)).toBeNull();
    });
  },
  WAIT,
);

test(
  "cookies that another machine's key store encrypted are told as 0 usable (rules/profiles#profile-of-a-run)",
  async () => {
    // A real cookie database, its value encrypted by a scheme this Chromium has no key for.
    const { targz } = await withLane(null, async (browser, hold) => {
      await visit(browser, `${site.origin}/`);
      await browser.connection.root.send("Storage.setCookies", {
        cookies: [{ name: "a", value: "b", url: site.origin, expires: Date.now() / 1000 + 86_400 }],
      });
      let db = new Uint8Array();
      await hold.restart(async (dir) => {
        const at = existsSync(join(dir, "Default/Network/Cookies")) ? "Network/Cookies" : "Cookies";
        const { Database } = await import("bun:sqlite");
        const path = join(dir, "Default", at);
        const sqlite = new Database(path);
        const { changes } = sqlite.run(
          "UPDATE cookies SET value = '', encrypted_value = CAST('v11' AS BLOB) || randomblob(48)",
        );
        expect(changes).toBe(1);
        sqlite.close();
        db = await Bun.file(path).bytes();
      });
      return { targz: await makeTarGz([["Default/Cookies", db]]) };
    });
    const profile = applyProfile(cache, hub.offer("foreign", targz), hub.files, signal);
    await withLane(profile, async (_browser, _hold, said) => {
      expect(said).toHaveLength(1);
      expect(said[0]).toStartWith("warn profile foreign: 0 usable cookies");
      expect(said[0]).toContain("desktop key store of the machine they come from (v11)");
    });
  },
  WAIT,
);

test(
  "clone_chrome_profile copies the operator's profile and leaves it as it is (rules/jobs#copy-the-operators-profile)",
  async () => {
    const config_dir = join(data_dir, "config");
    const home = join(config_dir, "chromium");
    await withLane(null, async (browser, hold) => {
      await browser.connection.root.send("Storage.setCookies", {
        cookies: [
          {
            name: "sid",
            value: site.newSession(),
            url: site.origin,
            expires: Date.now() / 1e3 + 900,
          },
        ],
      });
      await hold.restart((dir) => cp(dir, home, { recursive: true }));
    });
    await rename(join(home, "Default"), join(home, "Profile 1"));
    await symlink("/etc", join(home, "Profile 1", "elsewhere"));
    const before = await snapshotOf(config_dir);

    await withLane(
      cloneProfile(config_dir, "chromium/Profile 1", signal),
      async (browser, _, said) => {
        expect((await visit(browser, `${site.origin}/private`)).text).toContain("hello");
        expect(said).toEqual(["info clone of chromium/Profile 1: 1 cookies"]);
        expect(existsSync(join(browser.dirs.user_data, "Default", "elsewhere"))).toBe(false);
      },
    );
    expect(await snapshotOf(config_dir)).toEqual(before);
    for (const name of ["Default", "chromium/../../x", "google-chrome/Profile 1", "../chromium/x"])
      expect(await findProfile(config_dir, name).catch(String)).toContain("it has ");
    expect((await findProfile(config_dir, "Profile 1")).name).toBe("chromium/Profile 1");
  },
  WAIT,
);

/** Every file below, with its bytes' hash and its time. */
async function snapshotOf(dir: string): Promise<string[]> {
  const lines: string[] = [];
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { mtimeMs } = await stat(path);
    lines.push(`${path} ${mtimeMs} ${Bun.hash(await Bun.file(path).bytes())}`);
  }
  return lines.sort();
}

test(
  "a profile that is gone, damaged or refused fails the run and leaves the lane plain (rules/profiles#profile-of-a-run)",
  async () => {
    const gone = { name: "gone", sha256: "0".repeat(64), size: 0 };
    const attempt = (ref: typeof gone) =>
      withLane(applyProfile(cache, ref, hub.files, signal), async () => "ran").catch(String);
    expect(await attempt(gone)).toContain("profile gone no longer exists");
    expect(await attempt({ ...gone, size: 5 })).toContain("no longer exists");
    const outside = await makeTarGz([
      ["Default/ok", "x"],
      ["elsewhere/x", "x"],
    ]);
    expect(await attempt(hub.offer("outside", outside))).toContain("does not belong to a profile");
    expect(pool.lanes()[0]?.state).toBe("warm");
    expect(await readdir(join(data_dir, "lanes", "runs"))).toHaveLength(1);
  },
  WAIT,
);
