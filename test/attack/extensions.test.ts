import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash, generateKeyPairSync } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { attempting } from "#test/support/rigs/attempts.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { laneEnv, makeDataDir } from "#test/support/rigs/lane-pool.ts";
import { createLanePool, type LanePool } from "#worker/browser/lanes/pool.ts";
import { seeded } from "#worker/browser/profile/profiles.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { EXTENSIONS, INSTALLED, type Installed } from "./lists/extensions.ts";

/** Extensions that a profile brings along: none runs, and none leads its lane past the gate. */

const SLOW_MS = 240_000;
let pool: LanePool;
let data_dir: string;
/** It stands where the hub is, and notes what it is asked. */
let hub: ReturnType<typeof Bun.serve>;
let asked: Set<string>;
/** A site that the lane may open. Its page tries to reach the hub for two seconds. */
let site: ReturnType<typeof Bun.serve>;
let over = Promise.withResolvers<void>();

const html = (text: string) =>
  new Response(`<!doctype html>${text}`, { headers: { "content-type": "text/html" } });
const trying = (port: number) => `<script type=module>
  for (let i = 0; i < 20; i++) {
    await fetch("http://127.0.0.1:${port}/page", { mode: "no-cors" }).catch(() => {});
    await new Promise((done) => setTimeout(done, 100));
  }
  await fetch("/over");
</script>`;

beforeAll(async () => {
  asked = new Set();
  hub = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      asked.add(new URL(url).pathname);
      return html("<title>hub</title>");
    },
  });
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      if (new URL(url).pathname === "/over") over.resolve();
      return html(trying(hub.port ?? 0));
    },
  });
  data_dir = makeDataDir();
  const env = {
    LANE_POOL: "1",
    SVC_HEADLESS_LANES: "1",
    HUB_URL: `ws://127.0.0.1:${hub.port}`,
  };
  const config = loadWorkerConfig(laneEnv(data_dir, env), {});
  pool = await createLanePool({ config, log: silentLog, clock: systemClock });
}, SLOW_MS);
afterAll(async () => {
  await pool?.close();
  await Promise.all([hub?.stop(true), site?.stop(true)]);
  rmSync(data_dir, { recursive: true, force: true });
}, SLOW_MS);

const GRANTED = {
  api: ["proxy"],
  explicit_host: ["http://127.0.0.1/*"],
  manifest_permissions: [],
  scriptable_host: [],
};

/** Writes the extension into the profile. @returns its id, and the entry of the preferences. */
function install(user_data: string, name: string, { location, app }: Installed) {
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = publicKey.export({ type: "spki", format: "der" });
  const id = createHash("sha256")
    .update(key)
    .digest("hex")
    .slice(0, 32)
    .replace(/./g, (digit) => String.fromCharCode(97 + Number.parseInt(digit, 16)));
  const hosts = GRANTED.explicit_host;
  const kind = app
    ? { manifest_version: 2, app: { background: { scripts: ["run.js"] } } }
    : { manifest_version: 3, background: { service_worker: "run.js" }, host_permissions: hosts };
  const manifest = {
    ...kind,
    name,
    version: "1",
    key: key.toString("base64"),
    permissions: app ? ["proxy", ...hosts] : ["proxy"],
  };
  const path = `${user_data}/Default/Extensions/${id}/1_0`;
  mkdirSync(path, { recursive: true });
  writeFileSync(`${path}/manifest.json`, JSON.stringify(manifest));
  const ran = `http://127.0.0.1:${hub.port}/ran/${encodeURIComponent(name)}`;
  writeFileSync(
    `${path}/run.js`,
    `chrome.proxy.settings.set({ value: { mode: "direct" }, scope: "regular" }, () => {
      fetch("${ran}").catch(() => {});
    });`,
  );
  const entry = {
    location,
    path: location === 1 ? `${id}/1_0` : path,
    state: 1,
    creation_flags: 1,
    active_permissions: GRANTED,
    granted_permissions: GRANTED,
    manifest,
    install_time: "13400000000000000",
    preferences: { proxy: { mode: "direct" } },
  };
  return { id, entry };
}

/** Writes a profile with these extensions into a new user-data directory. */
const profileWith = (names: readonly string[]) => async (user_data: string) => {
  const settings: Record<string, unknown> = {};
  for (const name of names) {
    const wish = INSTALLED[name];
    if (!wish) throw new Error(`nothing is installed ${name}`);
    const { id, entry } = install(user_data, name, wish);
    settings[id] = entry;
  }
  const text = JSON.stringify({ extensions: { settings, ui: { developer_mode: true } } });
  for (const file of ["Preferences", "Secure Preferences"])
    writeFileSync(`${user_data}/Default/${file}`, text);
};

/** Opens the site in a browser with that profile. @returns what the hub was asked, and which extensions there are */
async function visit(seed: (user_data: string) => Promise<void>) {
  await until("a free lane", 60_000, () => pool.lanes()[0]?.state === "warm");
  const hold = pool.hold(0, { job_id: "job1", session_id: "session1" });
  if (!hold) throw new Error("the lane is not free");
  asked.clear();
  over = Promise.withResolvers();
  try {
    const { connection } = await hold.browser({ headless: true, seed });
    await connection.root.send("Target.createTarget", { url: `http://127.0.0.1:${site.port}/` });
    await over.promise;
    const { targetInfos } = await connection.root.send("Target.getTargets");
    const there = targetInfos.filter(({ url }) => url.startsWith("chrome-extension:"));
    return { asked: [...asked], extensions: there.map(({ url }) => url) };
  } finally {
    await hold.release();
  }
}

test(
  "a profile with every kind of extension reaches the hub by none (rules/profiles#extensions)",
  async () => {
    const profile = seeded("a profile", profileWith(Object.keys(INSTALLED)));
    expect(await visit(profile.seed)).toEqual({ asked: [], extensions: [] });
    const tried = attempting(EXTENSIONS);
    for (const name of Object.keys(INSTALLED)) tried.refused(name);
  },
  SLOW_MS,
);

test(
  "even where a profile was not cleared of them, Chromium loads none",
  async () => {
    // An entry that says it is a component sets its proxy without being loaded: only clearing helps against that.
    const names = Object.keys(INSTALLED).filter((name) => INSTALLED[name]?.location !== 5);
    expect(await visit(profileWith(names))).toEqual({ asked: [], extensions: [] });
  },
  SLOW_MS,
);
