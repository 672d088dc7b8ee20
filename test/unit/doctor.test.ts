import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runDoctorCommand } from "#hub/cli/doctor.ts";
import {
  type Check,
  checkPorts,
  checkPrograms,
  checkSharedMemory,
} from "#hub/cli/doctor-checks.ts";
import { createHubClient } from "#hub/cli/hub-client.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-doctor-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A PATH with programs that print a line. */
const pathWith = (programs: Record<string, string>): string => {
  const path = mkdtempSync(join(dir, "path-"));
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
  expect(byName(checks, "yt-dlp")?.advice).toContain("apt-get install yt-dlp");
  const headless = await checkPrograms({
    env: { SVC_HEADLESS_LANES: "1", SVC_CHROMIUM: "/nowhere/chrome" },
    path,
  });
  expect(byName(headless, "Xvnc")?.status).toBe("warn");
  expect(byName(headless, "chromium")?.advice).toContain("SVC_CHROMIUM");
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

test("doctor exits 1 when a check failed, 0 otherwise, and prints a table or JSON", async () => {
  const hub = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.json({ status: "ok", store: "sqlite", workers: 1, version: "v1" }),
  });
  try {
    const path = pathWith({ chromium: "Chromium 150.0", Xvnc: "Xvnc 1" });
    mkdirSync(join(dir, "data"), { recursive: true });
    const run = async (env: Record<string, string>, address: string, json: boolean) => {
      let out = "";
      const terminal = { out: (t: string) => (out += t), err: () => {}, width: 200 } as never;
      const client = createHubClient(address, undefined);
      const code = await runDoctorCommand({ env, path, client, terminal }, json);
      return { code, out };
    };
    const env = { SVC_DATA_DIR: join(dir, "data"), SVC_HUB: hub.url.href };
    const good = await run(env, hub.url.href, true);
    const { ok, checks } = JSON.parse(good.out) as { ok: boolean; checks: Check[] };
    expect(byName(checks, "hub")).toMatchObject({ status: "ok" });
    expect(good.code).toBe(ok ? 0 : 1);
    const none = "http://127.0.0.1:9";
    const bad = await run({ ...env, SVC_HUB: none }, none, false);
    expect(bad.code).toBe(1);
    expect(bad.out).toMatch(/^check +status +found +what to do/i);
    expect(bad.out).toMatch(/\nhub +fail /);
  } finally {
    await hub.stop(true);
  }
});
