import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processesOf, until } from "#test/support/rigs/fleet-process.ts";
import { type Program, runProgram, startProgram } from "#test/support/rigs/program.ts";
import { lanePorts } from "#test/support/servers/ports.ts";

/** Dev mode from source, with its worker as a child process. */

const MAIN = join(import.meta.dir, "../../hub/main.ts");
const SELF = [process.execPath, MAIN];
/** A busy machine starts hub, worker and browser one after the other. */
const START_MS = 120_000;
setDefaultTimeout(240_000);

let site: ReturnType<typeof Bun.serve>;
/** Calls of /slow wait for this. */
let gate = Promise.withResolvers<void>();
let dir: string;
let dev: Program | null = null;

beforeAll(() => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/slow") await gate.promise;
      return new Response("<p>hello<img src=/a.png>", { headers: { "content-type": "text/html" } });
    },
  });
});
afterAll(() => site.stop(true));
beforeEach(() => {
  gate = Promise.withResolvers<void>();
  dir = mkdtempSync(join(tmpdir(), "flotilla-dev-"));
});
afterEach(async () => {
  gate.resolve();
  dev?.kill("SIGKILL");
  await dev?.exited;
  dev = null;
  await until("the end of every process", 60_000, () => ofThisTest().length === 0);
  rmSync(dir, { recursive: true, force: true });
});

const ofThisTest = () => processesOf(dir).filter((p) => p.state !== "Z");
const worker = () => ofThisTest().find((p) => p.command.includes("--hub-url"));

const env = () => ({ FLOTILLA_TEST: dir, ...lanePorts() });
const startDev = (...args: string[]) => {
  dev = startProgram([...SELF, "dev", "--port", "0", "--lanes", "1", "--headless-lanes", ...args], {
    cwd: dir,
    env: env(),
  });
  return dev;
};

const urlOf = async (program: Program): Promise<string> =>
  until("the banner", START_MS, () => /http:\/\/127\.0\.0\.1:\d+/.exec(program.stdout)?.[0]);

const client = (hub: string, ...args: string[]) =>
  startProgram([...SELF, ...args], { cwd: dir, env: { SVC_HUB: hub, FLOTILLA_TEST: dir } });

async function expectSuccess(program: Program): Promise<void> {
  const code = await program.exited;
  expect({ code, log: code === 0 ? "" : program.stdout + program.stderr }).toEqual({
    code: 0,
    log: "",
  });
}

test("the command that dev mode prints works in a fresh shell, from any directory", async () => {
  const program = startDev();
  await urlOf(program);
  await program.says("Ctrl-C");
  const [, printed = ""] = /^ +fetch +(SVC_HUB=.*)$/m.exec(program.stdout) ?? [];
  expect(printed).toContain("scripts/flotilla fetch ");
  const shell = { HOME: dir, PATH: process.env.PATH, FLOTILLA_TEST: dir };
  const fetched = startProgram(
    ["env", "-i", ...Object.entries(shell).map((e) => e.join("=")), "sh", "-c", printed],
    { cwd: "/" },
  );
  await expectSuccess(fetched);
  expect(fetched.stdout).toContain("gradient.png");
});

test("--fetch URL keeps serving after its job, and SIGTERM ends everything with 0", async () => {
  const program = startDev("--fetch", site.url.href);
  await program.says("Ctrl-C stops", START_MS);
  await program.says("captured");
  const url = await urlOf(program);
  const { stdout } = await runProgram([...SELF, "jobs", "--json"], {
    cwd: dir,
    env: { SVC_HUB: url },
  });
  expect(JSON.parse(stdout).jobs[0].status).toBe("completed");
  program.kill("SIGTERM");
  expect(await program.exited).toBe(0);
  expect(ofThisTest()).toEqual([]);
});

test("--once exits 1 when the job fails", async () => {
  const program = startDev("--fetch", "http://127.0.0.1:9/", "--once");
  expect(await program.exited).toBe(1);
  expect(program.stdout).toContain("failed");
});

test("a worker that is killed with -9 comes back and takes the next job", async () => {
  const program = startDev();
  const url = await urlOf(program);
  await program.says("lane warm", START_MS);
  const first = worker();
  process.kill(first?.pid ?? 0, "SIGKILL");
  await until("another worker", 60_000, () => {
    const next = worker();
    return next && next.pid !== first?.pid;
  });
  await expectSuccess(client(url, "fetch", site.url.href, "--option", "idle_seconds=0.2"));
});

test("kill -9 of dev mode takes the worker and its browsers along", async () => {
  const program = startDev();
  await program.says("lane warm", START_MS);
  expect(ofThisTest().length).toBeGreaterThan(2);
  program.kill("SIGKILL");
  await until("the end of worker and browsers", 60_000, () => ofThisTest().length === 0);
});

test("Ctrl-C in fetch cancels the job and exits 130", async () => {
  const program = startDev();
  const url = await urlOf(program);
  await program.says("lane warm", START_MS);
  const fetching = client(url, "fetch", `${site.url}slow`);
  await fetching.says("navigate");
  fetching.kill("SIGINT");
  expect(await fetching.exited).toBe(130);
  expect(fetching.stderr).toContain("cancelled");
  const { stdout } = await runProgram([...SELF, "jobs", "--status", "cancelled"], {
    cwd: dir,
    env: { SVC_HUB: url },
  });
  expect(stdout).toContain(`${site.url}slow`);
});

test("fetch waits for a lane while the fleet is full and says so", async () => {
  const program = startDev();
  const url = await urlOf(program);
  await program.says("lane warm", START_MS);
  const first = client(url, "fetch", `${site.url}slow`, "--option", "idle_seconds=0.2");
  await first.says("navigate");
  const second = client(url, "fetch", site.url.href, "--option", "idle_seconds=0.2");
  await second.says("fleet at capacity");
  gate.resolve();
  await expectSuccess(first);
  await expectSuccess(second);
});

test("-o writes what the browser downloaded", async () => {
  const program = startDev("--demo", "--once", "-o", "out");
  await expectSuccess(program);
  expect(readFileSync(join(dir, "out/page.html"), "utf8")).toContain("Flotilla demo page");
  expect(JSON.parse(readFileSync(join(dir, "out/links.json"), "utf8")).links[0].url).toBe(
    "https://www.example.com/",
  );
  expect(JSON.parse(readFileSync(join(dir, "out/assets/data.json"), "utf8")).product).toBe(
    "flotilla",
  );
});

test("where a token is asked for dev mode stays one command: its link logs the owner in once, and its own job runs", async () => {
  const post = (url: string, path: string, body: object, headers = {}) =>
    fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const first = startDev();
  const url = await urlOf(first);
  await first.says("Ctrl-C");
  expect(first.stdout).not.toContain("#login=");
  const [, password = ""] = /user admin, password (\S+)/.exec(first.stdout) ?? [];
  const made = await post(...([url, "/tokens", { name: "me", role: "admin" }] as const), {
    "x-admin-password": password,
  });
  expect(made.status).toBe(201);
  first.kill("SIGTERM");
  await first.exited;

  const second = startDev("--fetch", `${site.url}page`);
  const again = await urlOf(second);
  await second.says("Ctrl-C");
  expect((await fetch(`${again}/jobs`)).status).toBe(401);
  const [, code = ""] = /#login=([\w-]+)$/m.exec(second.stdout) ?? [];
  const login = await post(again, "/ui/login", { code });
  expect(login.status).toBe(204);
  expect((await post(again, "/ui/login", { code })).status).toBe(401);
  const [cookie = ""] = login.headers.getSetCookie().map((line) => line.split(";", 1)[0] ?? "");
  expect((await fetch(`${again}/tokens`, { headers: { cookie } })).status).toBe(200);
  await second.says("serving on", 90_000);
  const jobs = await fetch(`${again}/jobs`, { headers: { cookie } });
  expect(await jobs.json()).toMatchObject({ jobs: [{ status: "completed" }] });
});
