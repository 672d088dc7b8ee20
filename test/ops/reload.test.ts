import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addressOf, binaryRig } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { inEmptyDir, type Program } from "#test/support/rigs/program.ts";
import {
  newAuthority,
  type PemFiles,
  replacePem,
  shownSubject,
} from "#test/support/servers/certificates.ts";
import { lanePorts } from "#test/support/servers/ports.ts";

/** SIGHUP makes the compiled program read its configuration again, in every mode, and ends none. */

const flotilla = binaryRig();
const LISTEN = ["--host", "127.0.0.1", "--port", "0"];

interface Line {
  level: string;
  message: string;
  [field: string]: unknown;
}

const linesOf = (program: Program, message: string): Line[] =>
  program.stderr
    .split("\n")
    .filter((line) => line.startsWith("{") && line.includes(message))
    .map((line) => JSON.parse(line) as Line);

/** Sends SIGHUP; the line that tells what came of it. */
async function hangUp(program: Program, message = "configuration reloaded"): Promise<Line> {
  const before = linesOf(program, message).length;
  program.kill("SIGHUP");
  return until(`"${message}"`, 60_000, () => linesOf(program, message)[before]);
}

const writeConfig = (path: string, values: Record<string, string>) =>
  writeFileSync(
    path,
    Object.entries(values)
      .map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
      .join(""),
  );

test("a hub takes tokens, limits and the log's level, says what changed and what needs a restart", () =>
  inEmptyDir(async (cwd) => {
    const [config, token, secret] = ["c.toml", "token", "secret"].map((name) => join(cwd, name));
    if (!config || !token || !secret) throw new Error("no paths");
    const files = { SVC_API_TOKEN_FILE: token, WORKER_SECRET_FILE: secret };
    writeConfig(config, { ...files, SVC_LOG_LEVEL: "info", SVC_QUEUE_TIMEOUT_S: "60" });
    writeFileSync(token, "first-token\n");
    writeFileSync(secret, "first-secret\n");
    const hub = flotilla.start(["hub", ...LISTEN, "--config", config], { cwd });
    const url = await addressOf(hub);
    const statusWith = async (given: string) => {
      const headers = { authorization: `Bearer ${given}` };
      return (await fetch(`${url}/jobs`, { headers })).status;
    };
    const shipWith = async (given: string) => {
      const headers = { "content-type": "application/json", "x-worker-secret": given };
      const body = JSON.stringify({ host: "h", service: "worker", logs: [] });
      const at = `${url}/api/v1/service-logs`;
      return (await fetch(at, { method: "POST", headers, body })).status;
    };
    expect([await statusWith("first-token"), await shipWith("first-secret")]).toEqual([200, 200]);
    const socket = new WebSocket(`${url.replace("http", "ws")}/workers/w1/link`);
    await new Promise((resolve) => {
      socket.onopen = resolve;
    });

    writeFileSync(token, "second-token\n");
    writeFileSync(secret, "second-secret\n");
    writeConfig(config, {
      ...files,
      SVC_LOG_LEVEL: "debug",
      SVC_QUEUE_TIMEOUT_S: "90",
      SVC_DATA_DIR: join(cwd, "elsewhere"),
    });
    const told = await hangUp(hub);
    expect((told.changed as string[]).sort()).toEqual([
      "SVC_API_TOKEN: *** → ***",
      "SVC_LOG_LEVEL: info → debug",
      "SVC_QUEUE_TIMEOUT_S: 60 → 90",
      "WORKER_SECRET: *** → ***",
    ]);
    expect(told.needs_restart).toEqual([`SVC_DATA_DIR: unset → ${join(cwd, "elsewhere")}`]);
    expect([await statusWith("first-token"), await statusWith("second-token")]).toEqual([401, 200]);
    expect([await shipWith("first-secret"), await shipWith("second-secret")]).toEqual([401, 200]);
    await hub.says('"message":"request answered"');
    expect(hub.stderr).not.toMatch(/(first|second)-(token|secret)/);
    expect(socket.readyState).toBe(WebSocket.OPEN);

    writeConfig(config, { ...files, SVC_LOG_LEVEL: "loud", SVC_QUEUE_TIMEOUT_S: "5" });
    const refused = await hangUp(
      hub,
      "could not reload the configuration; the previous one stays in effect",
    );
    expect(refused).toMatchObject({
      level: "error",
      err: expect.stringContaining("SVC_LOG_LEVEL"),
    });
    expect(await statusWith("second-token")).toBe(200);
    socket.close();
    expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
  }));

test("a hub that was open asks for a token that it is given while it runs", () =>
  inEmptyDir(async (cwd) => {
    const config = join(cwd, "c.toml");
    writeConfig(config, {});
    const hub = flotilla.start(["control", ...LISTEN, "--config", config], { cwd });
    const at = `${await addressOf(hub)}/api/v1/workloads`;
    expect((await fetch(at)).status).toBe(200);
    writeConfig(config, { SVC_API_TOKEN: "a-token" });
    expect((await hangUp(hub)).changed).toEqual(["SVC_API_TOKEN: unset → ***"]);
    expect((await fetch(at)).status).toBe(401);
    expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
  }));

const MODES: Record<string, { args: string[]; ready: string }> = {
  control: { args: ["control", ...LISTEN], ready: "control plane started" },
  "pull worker": {
    args: ["worker", "--control-url", "http://127.0.0.1:9"],
    ready: "pull worker started",
  },
  "browser worker": {
    args: ["worker", "--hub-url", "ws://127.0.0.1:9", "--lanes", "1", "--headless-lanes"],
    ready: "could not reach the hub",
  },
  agent: {
    args: ["worker", "--agent", "--control-url", "http://127.0.0.1:9"],
    ready: "could not ship logs",
  },
};
for (const [mode, { args, ready }] of Object.entries(MODES))
  test(`SIGHUP does not end a ${mode}, which takes the log's level`, () =>
    inEmptyDir(async (cwd) => {
      const config = join(cwd, "c.toml");
      writeConfig(config, {});
      const program = flotilla.start([...args, "--config", config], { cwd, env: lanePorts() });
      await program.says(ready);
      writeConfig(config, { SVC_LOG_LEVEL: "debug" });
      expect((await hangUp(program)).changed).toEqual(["SVC_LOG_LEVEL: unset → debug"]);
      expect(await flotilla.end(program, "SIGTERM")).toBe(0);
    }));

test("SIGHUP does not end dev mode nor its workers", () =>
  inEmptyDir(async (cwd) => {
    const args = ["dev", "--port", "0", "--lanes", "1", "--headless-lanes"];
    const dev = flotilla.start(args, { cwd, env: lanePorts() });
    await dev.says("link registered");
    dev.kill("SIGHUP");
    await until("three reloads", 60_000, () => {
      const modes = linesOf(dev, "configuration reloaded").map(({ mode }) => mode);
      return modes.sort().join() === "dev,worker,worker";
    });
    expect(linesOf(dev, "child ended")).toEqual([]);
    expect(await flotilla.end(dev, "SIGTERM")).toBe(0);
  }));

let dir: string;
let first: PemFiles;
let second: PemFiles;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-reload-"));
  const authority = await newAuthority(dir);
  first = await authority.sign("first");
  second = await authority.sign("second");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("a certificate that was replaced is taken at once", () =>
  inEmptyDir(async (cwd) => {
    const files = { cert: join(cwd, "hub.crt"), key: join(cwd, "hub.key") };
    replacePem(files, first);
    const tls = ["--tls-cert", files.cert, "--tls-key", files.key];
    const hub = flotilla.start(["control", ...LISTEN, ...tls], { cwd });
    const url = (await addressOf(hub)).replace("http", "https");
    replacePem(files, { cert: first.cert, key: second.key });
    await hangUp(hub, "could not load the TLS certificate; the previous one stays in use");
    expect(await shownSubject(url)).toBe("CN=first");
    replacePem(files, second);
    await hangUp(hub);
    expect(await shownSubject(url)).toBe("CN=second");
    expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
  }));
