import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadHubConfig } from "#hub/platform/config.ts";
import type { FlagValues } from "#hub/program/cli/args.ts";
import { createHubClient } from "#hub/program/cli/hub-client.ts";
import type { Terminal } from "#hub/program/cli/print.ts";
import { checkScripts } from "#hub/program/commands/doctor/browser.ts";
import type { Check } from "#hub/program/commands/doctor/check.ts";
import { skewOf } from "#hub/program/commands/doctor/clocks.ts";
import { checkDatabase } from "#hub/program/commands/doctor/database.ts";
import { runDoctor } from "#hub/program/commands/doctor/doctor.ts";
import { checkHubClock, checkWorkerVersions } from "#hub/program/commands/doctor/hub.ts";
import {
  checkDisk,
  checkPorts,
  checkPrograms,
  checkServerPort,
  checkSharedMemory,
} from "#hub/program/commands/doctor/machine.ts";
import { checkSandbox } from "#hub/program/commands/doctor/sandbox.ts";
import { checkRedis } from "#hub/program/commands/doctor/stores.ts";
import { freePort } from "#test/support/servers/ports.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-doctor-"));
  // Root's browser is another account's.
  chmodSync(dir, 0o711);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A PATH with programs that print a line. */
const pathWith = (programs: Record<string, string>): string => {
  const path = mkdtempSync(join(dir, "path-"));
  chmodSync(path, 0o711);
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(path, name), `#!/bin/sh\necho '${line}'\n`);
    chmodSync(join(path, name), 0o755);
  }
  return path;
};
const byName = (checks: Check[], name: string) => checks.find((check) => check.name === name);

test("doctor names what is missing and the package to install", async () => {
  const path = pathWith({ chromium: "Chromium 150.0", ffmpeg: "ffmpeg version 5" });
  const checks = await checkPrograms({ env: {}, path });
  expect(byName(checks, "chromium")).toEqual({
    name: "chromium",
    status: "ok",
    found: "Chromium 150.0",
    advice: "",
  });
  expect(byName(checks, "Xvnc")).toMatchObject({ status: "fail" });
  expect(byName(checks, "Xvnc")?.advice).toContain("apt-get install tigervnc-standalone-server");
  expect(byName(checks, "ffmpeg")?.status).toBe("ok");
  expect(byName(checks, "ffprobe")).toMatchObject({ status: "warn", found: "not installed" });
  expect(byName(checks, "yt-dlp")).toMatchObject({ status: "warn" });
  expect(byName(checks, "chromedriver")?.advice).toContain("apt-get install chromium-driver");
  expect(byName(checks, "yt-dlp")?.advice).toContain("apt-get install yt-dlp");
  const headless = await checkPrograms({
    env: { SVC_HEADLESS_LANES: "1", SVC_CHROMIUM: "/nowhere/chrome" },
    path,
  });
  expect(byName(headless, "Xvnc")?.status).toBe("warn");
  expect(byName(headless, "chromium")?.advice).toContain("SVC_CHROMIUM");
});

test("doctor tries what scripts run in, and says what is missing or switched off", async () => {
  const config = { sandbox: "bubblewrap" as const, data_dir: join(dir, "data") };
  const name = "script sandbox";
  const namespaces: Check = { name: "user namespaces", status: "ok", found: "", advice: "" };
  expect(await checkSandbox(config, namespaces)).toMatchObject({
    name,
    status: "ok",
    found: expect.stringContaining("bubblewrap; a script took"),
  });
  expect(await checkSandbox({ ...config, path: pathWith({}) }, namespaces)).toEqual({
    name,
    status: "warn",
    found: "bwrap is not installed",
    advice: "apt-get install bubblewrap",
  });
  const broken = pathWith({ nice: "", prlimit: "", setpriv: "", ldd: "", bwrap: "" });
  expect(await checkSandbox({ ...config, path: broken }, namespaces)).toMatchObject({
    name,
    status: "warn",
  });
  expect(await checkSandbox({ ...config, sandbox: "process" }, namespaces)).toMatchObject({
    name,
    status: "warn",
    found: "none: SVC_SANDBOX=process",
  });
});

test("doctor names a package for every script that no font shows, and quickstart installs the same", async () => {
  /** fc-list that finds a font for patterns with one of these in them. */
  const fcList = (...known: string[]) => {
    const path = pathWith({});
    const cases = known.map((part) => `*${part}*) echo Font ;;`).join(" ");
    writeFileSync(join(path, "fc-list"), `#!/bin/sh\ncase $1 in ${cases} esac\n`);
    chmodSync(join(path, "fc-list"), 0o755);
    return checkScripts({ env: {}, path });
  };
  const none = await fcList("nothing");
  expect(none.status).toBe("warn");
  expect(none.found).toBe(
    "pages show boxes for Chinese, Japanese or Korean and emoji and Arabic, Hebrew, Hindi or Thai",
  );
  const packages = none.advice.replace("apt-get install ", "").split(" ");
  expect(packages).toEqual(["fonts-wqy-microhei", "fonts-noto-color-emoji", "fonts-freefont-ttf"]);
  const setup = await Bun.file(join(import.meta.dir, "../../scripts/setup.sh")).text();
  for (const name of packages) expect(setup).toContain(`want_font ${name} `);
  // Hangul alone is missing.
  const most = await fcList("lang=zh-cn", "lang=ja", "charset");
  expect(most.advice).toBe("apt-get install fonts-wqy-microhei");
  expect(await fcList("lang", "charset")).toMatchObject({ status: "ok", advice: "" });
});

test("doctor tells ports that are taken and a /dev/shm that is not there", async () => {
  const server: Server = createServer();
  const port = await new Promise<number>((done) =>
    server.listen(0, "127.0.0.1", () => done((server.address() as { port: number }).port)),
  );
  const env = { LANE_POOL: "1", NOVNC_BASE_PORT: String(port) };
  const check = await checkPorts({ env, path: "" });
  expect(check.status).toBe("warn");
  expect(check.found).toContain(String(port));
  await new Promise((done) => server.close(done));
  expect(await checkSharedMemory(join(dir, "none"))).toMatchObject({ found: "absent" });
});

/** What `flotilla doctor` prints and answers. */
async function doctor(words: string[], env: Record<string, string>, json = true) {
  let out = "";
  const terminal: Terminal = {
    out: (text: string) => {
      out += text;
    },
    err: () => {},
    width: 300,
    live: false,
    liveWidth: 80,
  };
  const flags: FlagValues = json ? { json: ["1"] } : {};
  const code = await runDoctor(words, { env, origins: new Map(), overrides: {}, flags, terminal });
  return { code, out };
}
const health = (init: ResponseInit = {}) =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (req) =>
      new URL(req.url).pathname === "/workers"
        ? Response.json({ workers: [{ worker_id: "w7", version: "v0", alive: true }] })
        : Response.json({ status: "ok", store: "sqlite", workers: 1, version: "v1" }, init),
  });

test("doctor exits 1 when a check failed, 0 otherwise, and prints a table or JSON", async () => {
  const hub = health();
  try {
    const path = pathWith({
      chromium: "<title>flotilla-doctor-41</title>",
      Xvnc: "7",
    });
    mkdirSync(join(dir, "data"), { recursive: true });
    const env = { SVC_DATA_DIR: join(dir, "data"), PATH: path };
    const good = await doctor(["worker"], { ...env, SVC_HUB: hub.url.href });
    const { ok, checks } = JSON.parse(good.out) as { ok: boolean; checks: Check[] };
    for (const name of ["hub", "clock", "browser start", "display"])
      expect(byName(checks, name)).toMatchObject({ status: "ok" });
    // Slow on a machine that is busy.
    expect(byName(checks, "disk")?.status).not.toBe("fail");
    expect(byName(checks, "fonts CJK, emoji")).toMatchObject({ status: "warn" });
    // What answers here is no hub: its worker link is not one.
    expect(byName(checks, "worker link")).toMatchObject({ status: "fail" });
    expect({ ok, code: good.code }).toEqual({ ok: false, code: 1 });
    const bad = await doctor([], { ...env, SVC_HUB: "http://127.0.0.1:9" }, false);
    expect(bad.code).toBe(1);
    expect(bad.out).toMatch(/^check +status +found +what to do/i);
    expect(bad.out).toMatch(/\nhub +FAIL /);
    const server = await doctor(["hub"], { ...env, SVC_PORT: String(freePort()) });
    expect(server.code).toBe(0);
    expect(byName(JSON.parse(server.out).checks, "database")?.found).toContain("empty");
    expect(doctor(["router"], env)).rejects.toThrow('"router" is not one of hub, control, worker');
  } finally {
    await hub.stop(true);
  }
});

test("doctor tells a hub's clock, version and port apart from this machine's", async () => {
  expect([skewOf(5, 1, 9), skewOf(0, 1, 9), skewOf(12, 1, 9)]).toEqual([0, -1, 3]);
  const hub = health({ headers: { date: new Date(Date.now() - 60_000).toUTCString() } });
  const target = {
    client: createHubClient(hub.url.href, undefined),
    named: "HUB_URL",
    secret: null,
  };
  try {
    const clock = await checkHubClock(target);
    expect(clock.status).toBe("fail");
    expect(clock.found).toMatch(/^-(59|60|61)/);
    expect(clock.advice).toContain("timedatectl");
    const versions = await checkWorkerVersions(target);
    expect(versions).toMatchObject({ status: "warn", found: "hub v1; w7 v0" });
    const held = await checkServerPort(Number(hub.port), "127.0.0.1");
    expect(held).toMatchObject({ status: "ok" });
    expect(held.found).toContain("a hub that answers, version v1");
  } finally {
    await hub.stop(true);
  }
  const control = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      request.url.endsWith("/api/v1/health")
        ? Response.json({ ok: true, version: "v2" })
        : Response.json({ detail: "no such path" }, { status: 404 }),
  });
  const by = await checkServerPort(Number(control.port), "127.0.0.1");
  expect(by.found).toContain("a control plane that answers, version v2");
  await control.stop(true);
  const other = createServer((socket) => socket.destroy());
  const port = await new Promise<number>((done) =>
    other.listen(0, "127.0.0.1", () => done((other.address() as { port: number }).port)),
  );
  const taken = await checkServerPort(port, "127.0.0.1");
  expect(taken.status).toBe("fail");
  expect(taken.found).toContain(`(pid ${process.pid})`);
  await new Promise((done) => other.close(done));
}, 180_000);

test("doctor finds a disk that cannot be written, and stores that are away, with masked passwords", async () => {
  const missing = await checkDisk({ env: { SVC_DATA_DIR: "/proc/flotilla" }, path: "" });
  expect(missing.status).toBe("fail");
  const away = `127.0.0.1:${freePort()}`;
  const config = loadHubConfig({ SVC_DB_URL: `postgres://ann:geheim@${away}/x` });
  for (const check of [
    await checkDatabase(config),
    await checkRedis(`redis://:geheim@${away}/0`),
  ]) {
    expect(check.status).toBe("fail");
    expect(check.advice).not.toBe("");
    expect(JSON.stringify(check)).not.toContain("geheim");
  }
}, 180_000);
