import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addressOf, asNobody, binaryRig, statusOf } from "#test/support/rigs/binary.ts";
import { inEmptyDir, startProgram } from "#test/support/rigs/program.ts";
import { lanePorts } from "#test/support/servers/ports.ts";

/** The compiled binary in every mode, from an empty directory, with nothing of the sources beside it. */

const flotilla = binaryRig();

/** In `dir`. */
const start = (
  dir: string,
  args: string[],
  env: Record<string, string> = {},
  prefix: string[] = [],
) => flotilla.start(args, { cwd: dir, env, prefix });

const LISTENING = [
  { mode: "hub", paths: ["/health", "/openapi.json", "/docs", "/workers", "/api/v1/health"] },
  { mode: "control", paths: ["/api/v1/health", "/api/v1/status", "/openapi.json", "/docs"] },
];

for (const { mode, paths } of LISTENING)
  describe(`flotilla ${mode}`, () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const)
      test(`answers ${paths.join(", ")} and ends with 0 on ${signal}`, () =>
        inEmptyDir(async (dir) => {
          const program = start(dir, [mode, "--host", "127.0.0.1", "--port", "0"]);
          const url = await addressOf(program);
          for (const path of paths)
            expect(`${path} ${await statusOf(url + path)}`).toBe(`${path} 200`);
          expect(await flotilla.end(program, signal)).toBe(0);
          expect(readdirSync(dir)).toEqual(["data"]);
        }));
  });

test("the admin UI is in the binary: its page and every file that the page names (rules/web-app#in-the-program)", () =>
  inEmptyDir(async (dir) => {
    for (const mode of ["hub", "control"]) {
      const program = start(dir, [mode, "--host", "127.0.0.1", "--port", "0"]);
      const url = await addressOf(program);
      const page = await (await fetch(url, { headers: { accept: "text/html" } })).text();
      const names = [...page.matchAll(/"(\/ui\/assets\/[^"]+)"/g)].map(([, name = ""]) => name);
      expect(names.filter((name) => name.endsWith(".js")).length).toBeGreaterThan(0);
      expect(names.filter((name) => name.endsWith(".css")).length).toBeGreaterThan(0);
      for (const name of names) expect(`${name} ${await statusOf(url + name)}`).toBe(`${name} 200`);
      expect(await flotilla.end(program, "SIGTERM")).toBe(0);
    }
  }));

test("the guide is in the binary: its pages, their files and every Markdown that /llms.txt names (rules/web-app#the-guide)", () =>
  inEmptyDir(async (dir) => {
    const program = start(dir, ["hub", "--host", "127.0.0.1", "--port", "0"]);
    const url = await addressOf(program);
    const llms = await (await fetch(`${url}/llms.txt`)).text();
    const texts = [...llms.matchAll(/\]\((\/guide\/[^)]+\.md)\)/g)].map(([, path = ""]) => path);
    expect(texts.length).toBeGreaterThan(20);
    const pages = texts.map((path) => path.replace(/\.md$/, ""));
    const files = ["guide.css", "guide.js", "colors.js"].map((name) => `/guide/assets/${name}`);
    for (const path of ["/guide", "/guide/search?q=lease", ...files, ...texts, ...pages])
      expect(`${path} ${await statusOf(url + path)}`).toBe(`${path} 200`);
    expect(await flotilla.end(program, "SIGTERM")).toBe(0);
  }));

test("flotilla hub runs as an unprivileged user", () =>
  inEmptyDir(async (dir) => {
    if (process.getuid?.() === 0) chownSync(dir, 65_534, 65_534);
    const args = ["hub", "--host", "127.0.0.1", "--port", "0"];
    const program = start(dir, args, { HOME: dir }, asNobody());
    expect(await statusOf(`${await addressOf(program)}/health`)).toBe(200);
    expect(await flotilla.end(program, "SIGTERM")).toBe(0);
  }));

test("the binary is the runtime of scripts, also where only root gets at it (rules/sandbox#the-program-is-the-runtime)", () =>
  inEmptyDir(async (dir) => {
    const hidden = join(dir, "hidden");
    mkdirSync(hidden, { mode: 0o700 });
    copyFileSync(flotilla.path, join(hidden, "flotilla"));
    const doctor = ["doctor", "hub", "--json", "--data-dir", join(dir, "data")];
    for (const program of [flotilla.path, join(hidden, "flotilla")]) {
      const run = startProgram([program, ...doctor], { cwd: dir });
      await run.exited;
      const { checks } = JSON.parse(run.stdout) as { checks: { name: string }[] };
      expect(checks.find(({ name }) => name === "script sandbox")).toMatchObject({
        status: "ok",
        found: expect.stringContaining("bubblewrap; a script took"),
      });
    }
  }));

test("flotilla dev as an unprivileged user runs the demo job on headless lanes and ends with 0", async () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-empty-"));
  try {
    chmodSync(dir, 0o755);
    if (process.getuid?.() === 0) chownSync(dir, 65_534, 65_534);
    const args = [
      "dev",
      "--port",
      "0",
      "--headless-lanes",
      "--lanes",
      "1",
      "--demo",
      "--once",
      "-o",
      "out",
    ];
    const env = { HOME: dir, TMPDIR: dir, ...lanePorts() };
    const program = start(dir, args, env, asNobody());
    const code = await flotilla.exitCode(program);
    expect({ code, log: code === 0 ? "" : program.stderr }).toEqual({ code: 0, log: "" });
    expect(program.stdout).toContain("(100 %)");
    expect(existsSync(join(dir, "out/assets/gradient.png"))).toBe(true);
    expect(existsSync(join(dir, "out/page.html"))).toBe(true);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}, 180_000);

test(
  "flotilla worker joins flotilla hub as a process of its own, and a client fetches through both",
  () =>
    inEmptyDir(async (dir) => {
      const hub = start(dir, ["--mode", "hub", "--host=127.0.0.1", "--port=0", "--data-dir=hub"], {
        WORKER_SECRET: "s3cret",
      });
      const url = await addressOf(hub);
      const worker = start(
        dir,
        [
          "--mode",
          "worker",
          "--hub-url",
          url.replace("http", "ws"),
          "--lanes",
          "1",
          "--data-dir=worker",
        ],
        { WORKER_SECRET: "s3cret", SVC_HEADLESS_LANES: "1", ...lanePorts() },
      );
      await worker.says("lane warm", 120_000);
      const site = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: () => new Response("<p>hello", { headers: { "content-type": "text/html" } }),
      });
      try {
        const client = await flotilla.run(
          ["fetch", site.url.href, "--json", "--option", "idle_seconds=0.2"],
          { cwd: dir, env: { SVC_HUB: url } },
        );
        expect({ code: client.code, err: client.code === 0 ? "" : client.stderr }).toEqual({
          code: 0,
          err: "",
        });
        expect(JSON.parse(client.stdout).job.status).toBe("completed");
        const list = await flotilla.run(["workers"], { cwd: dir, env: { SVC_HUB: url } });
        expect(list.stdout).toContain("active");
      } finally {
        await site.stop(true);
      }
      expect(await flotilla.end(worker, "SIGTERM")).toBe(0);
      expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
    }),
  240_000,
);

test("a second signal ends a drain at once with 128 and its number", () =>
  inEmptyDir(async (dir) => {
    const program = start(dir, ["hub", "--host", "127.0.0.1", "--port", "0"]);
    const url = await addressOf(program);
    // A body that never ends keeps the drain busy for its whole 5 s.
    const { port } = new URL(url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => {});
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    socket.write("POST /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n");
    socket.write("Content-Length: 100\r\n\r\n{");
    // It comes later, and is read later.
    expect(await statusOf(`${url}/health`)).toBe(200);
    program.kill("SIGTERM");
    await program.says("stop requested");
    program.kill("SIGTERM");
    const code = await flotilla.exitCode(program);
    socket.destroy();
    expect(code).toBe(143);
  }));

describe("a command line or variable that is wrong gives one clear line and 2", () => {
  const rows: { args: string[]; env?: Record<string, string>; says: string }[] = [
    { args: ["hub", "--nonsense"], says: "unknown flag --nonsense for hub" },
    { args: ["hub", "--port", "x"], says: '--port: "x" is not a number' },
    { args: ["hub"], env: { SVC_PORT: "70000" }, says: "SVC_PORT: " },
    { args: ["worker", "--lanes", "none"], says: '--lanes: "none" is not a number' },
    { args: ["worker"], env: { LANE_POOL: "two" }, says: 'LANE_POOL: "two" is not a number' },
    { args: ["worker"], says: "HUB_URL" },
    { args: ["--mode", "nothing"], says: '--mode: "nothing" is not one of' },
    { args: ["control"], env: { SVC_LOG_LEVEL: "loud" }, says: "SVC_LOG_LEVEL: " },
    { args: ["fetch", "file:///etc/passwd"], says: "is not an http or https URL" },
  ];
  for (const { args, env, says } of rows)
    test(`${JSON.stringify(env ?? {})} flotilla ${args.join(" ")}`, () =>
      inEmptyDir(async (dir) => {
        const { code, stderr } = await flotilla.run(args, { cwd: dir, env });
        expect(code).toBe(2);
        const [line, hint = "try: flotilla", ...rest] = stderr.trimEnd().split("\n");
        expect(line).toContain(says);
        expect(hint).toStartWith("try: flotilla");
        expect(rest).toEqual([]);
      }));
});

test("a worker without its browser names the package and exits 3", () =>
  inEmptyDir(async (dir) => {
    const { code, stderr } = await flotilla.run(["worker", "--hub-url", "ws://127.0.0.1:1"], {
      cwd: dir,
      env: { PATH: dir, ...lanePorts() },
    });
    expect(code).toBe(3);
    expect(stderr).toContain("apt-get install chromium");
  }));

test("dev mode says once that a program is missing and keeps serving", () =>
  inEmptyDir(async (dir) => {
    const program = start(dir, ["dev", "--port", "0"], { PATH: dir, ...lanePorts() });
    await program.says("child cannot run and is not restarted");
    expect(await statusOf(`${await addressOf(program)}/health`)).toBe(200);
    expect(program.stderr.match(/apt-get install/g)).toHaveLength(1);
    expect(await flotilla.end(program, "SIGTERM")).toBe(0);
  }));

test("--version gives the hash that /health gives", () =>
  inEmptyDir(async (dir) => {
    const { stdout } = await flotilla.run(["--version"], { cwd: dir });
    expect(stdout).toMatch(/^flotilla [0-9a-f]{12}\n$/);
    const program = start(dir, ["hub", "--host", "127.0.0.1", "--port", "0"]);
    const health = (await (await fetch(`${await addressOf(program)}/health`)).json()) as {
      version: string;
    };
    expect(stdout.trim()).toBe(`flotilla ${health.version}`);
    expect(await flotilla.end(program, "SIGTERM")).toBe(0);
  }));

test("the client exits 3 when no hub answers", () =>
  inEmptyDir(async (dir) => {
    const { code, stderr } = await flotilla.run(["jobs"], {
      cwd: dir,
      env: { SVC_HUB: "http://127.0.0.1:1" },
    });
    expect(code).toBe(3);
    expect(stderr).toContain("not reachable");
  }));
