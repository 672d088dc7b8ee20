import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Journalled, startJournalled } from "#test/support/rigs/journal-file.ts";
import { cleanEnv, inEmptyDir, runProgram } from "#test/support/rigs/program.ts";
import { lanePorts } from "#test/support/servers/ports.ts";
import { ensureBinary } from "../../scripts/build.ts";

/** What the compiled program writes where systemd's journal, a terminal or a file reads it. */

let flotilla: string;
const programs: Journalled[] = [];

beforeAll(async () => {
  flotilla = await ensureBinary();
}, 300_000);

afterAll(async () => {
  for (const program of programs) program.kill("SIGKILL");
  await Promise.all(programs.map((p) => p.exited));
});

const HUB = ["hub", "--host", "127.0.0.1", "--port", "0"];

function start(args: string[], options: Parameters<typeof startJournalled>[1]): Journalled {
  const program = startJournalled([flotilla, ...args], options);
  programs.push(program);
  return program;
}

async function startHub(dir: string, env: Record<string, string> = {}) {
  const hub = start(HUB, { dir, env });
  const line = await hub.line(/hub started/);
  return { hub, url: `http://127.0.0.1:${/"port":(\d+)/.exec(line)?.[1]}` };
}

async function stop(program: Journalled): Promise<number> {
  program.kill("SIGTERM");
  return program.exited;
}

test("in the journal each line is JSON behind its priority", () =>
  inEmptyDir(async (dir) => {
    const { hub } = await startHub(dir);
    expect(await stop(hub)).toBe(0);
    expect(hub.lines().length).toBeGreaterThan(2);
    for (const line of hub.lines()) {
      expect(line).toMatch(/^<[3467]>\{/);
      const priority = { error: 3, warn: 4, info: 6, debug: 7 }[
        JSON.parse(line.slice(3)).level as string
      ];
      expect(line[1]).toBe(String(priority));
    }
  }));

test("a JOURNAL_STREAM that names another file adds no priorities", () =>
  inEmptyDir(async (dir) => {
    const hub = start(HUB, { dir, foreign: true });
    await hub.line(/hub started/);
    await stop(hub);
    for (const line of hub.lines()) expect(JSON.parse(line)).toHaveProperty("level");
  }));

test("a refused value is an error of the journal, line by line", () =>
  inEmptyDir(async (dir) => {
    const env = { SVC_PORT: "x", SVC_LOG_LEVEL: "loud" };
    const hub = start(["hub"], { dir, env });
    expect(await hub.exited).toBe(2);
    expect(hub.lines()).toHaveLength(2);
    for (const line of hub.lines()) expect(line).toStartWith("<3>flotilla: SVC_");
  }));

test("answered requests are for debugging, those that failed with 5xx are warnings", () =>
  inEmptyDir(async (dir) => {
    const { hub, url } = await startHub(dir, { SVC_SUBMIT_WAIT_S: "0" });
    const submit = { method: "POST", headers: { "content-type": "application/json" } };
    expect((await fetch(`${url}/jobs/none`)).status).toBe(404);
    const full = await fetch(`${url}/jobs`, { ...submit, body: '{"url":"http://site.test/"}' });
    expect(full.status).toBe(503);
    await hub.line(/"status":503/);
    expect(hub.lines().filter((line) => line.includes("request answered"))).toEqual([
      expect.stringMatching(/^<4>.*"path":"\/jobs","status":503/),
    ]);
    await stop(hub);
  }));

test("with SVC_LOG_LEVEL=debug every answered request has its line", () =>
  inEmptyDir(async (dir) => {
    const { hub, url } = await startHub(dir, { SVC_LOG_LEVEL: "debug" });
    await fetch(`${url}/health`);
    expect(await hub.line(/request answered/)).toMatch(/^<7>.*"path":"\/health","status":200/);
    await stop(hub);
  }));

test("the words of a browser that dies keep the priority on each of their lines", () =>
  inEmptyDir(async (dir) => {
    const browser = join(dir, "browser");
    writeFileSync(browser, "#!/bin/sh\nprintf 'first words\\n<0>last words\\n' >&2\nexit 9\n");
    chmodSync(browser, 0o755);
    // Root's browser is another account's.
    chmodSync(dir, 0o711);
    const env = {
      HUB_URL: "ws://127.0.0.1:9",
      SVC_CHROMIUM: browser,
      SVC_LOG_FORMAT: "human",
      ...lanePorts(),
    };
    const worker = start(["worker", "--lanes", "1", "--headless-lanes"], { dir, env });
    await worker.line(/last words/);
    const lines = worker.lines();
    for (const line of lines) expect(line).toMatch(/^<[3467]>/);
    const last = lines.find((line) => /last words$/.test(line)) ?? "";
    expect(last).toMatch(/^<[34]> +<0>last words$/);
    worker.kill("SIGKILL");
  }));

test("dev mode's workers write to the journal as it does", () =>
  inEmptyDir(async (dir) => {
    const env = { ...lanePorts(), SVC_PORT: "0" };
    const dev = start(["dev", "--headless-lanes", "--lanes=1"], { dir, env });
    await dev.line(/pull worker started/);
    expect(await stop(dev)).toBe(0);
    for (const line of dev.lines()) expect(line).toMatch(/^<[3467]>/);
    expect(dev.lines().some((line) => line.includes('"mode":"worker"'))).toBe(true);
  }));

/** The program with a terminal as its standard error, ended once it has started; what the terminal showed. */
async function inTerminal(dir: string, flags: string[]): Promise<string> {
  const command = [flotilla, ...HUB, ...flags, "&", "PID=$!;"].join(" ");
  const wait = "until grep -q 'hub started' seen; do sleep 0.1; done; kill $PID; wait $PID";
  const argv = ["script", "-qfec", `sh -c '${command} ${wait.replaceAll("'", `'"'"'`)}'`, "seen"];
  const { stdout } = await runProgram(argv, { cwd: dir, env: cleanEnv({ TERM: "xterm" }) });
  return stdout.replaceAll("\r", "");
}

test("a terminal gets lines for people, and JSON when that is asked for", () =>
  inEmptyDir(async (dir) => {
    const lines = (await inTerminal(dir, [])).split("\n");
    const started = lines.find((line) => line.includes("hub started"));
    expect(started).toMatch(/^\d\d:\d\d:\d\d\.\d{3} /);
    expect(started).toContain(" \u001b[32mINFO \u001b[0m hub started  mode=hub");
    const json = (await inTerminal(dir, ["--log-format=json"])).split("\n");
    const line = json.find((l) => l.includes("hub started")) ?? "";
    expect(JSON.parse(line)).toMatchObject({ level: "info", message: "hub started" });
  }));

test("what is no terminal gets JSON, and lines for people when that is asked for", () =>
  inEmptyDir(async (dir) => {
    const hub = start([...HUB, "--log-format", "human"], { dir, foreign: true });
    expect(await hub.line(/hub started/)).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}hub started {2}mode=hub/,
    );
    await stop(hub);
  }));
