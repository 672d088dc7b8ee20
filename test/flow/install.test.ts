import { afterEach, expect, test } from "bun:test";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FlagValues } from "#hub/program/cli/args.ts";
import { runInstall } from "#hub/program/commands/install/install.ts";
import type { System } from "#hub/program/commands/install/system.ts";
import { runUninstall } from "#hub/program/commands/install/uninstall.ts";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});
const newDir = () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-install-"));
  dirs.push(dir);
  writeFileSync(join(dir, "program"), "first");
  return dir;
};

const commands: string[] = [];
const system = (change: Partial<System> = {}): System => ({
  is_root: true,
  has_systemd: true,
  hasUser: async () => false,
  executableOf: async () => "/usr/local/bin/flotilla.previous",
  health: async () => null,
  ask: async () => null,
  run: async (argv) => {
    commands.push(argv.join(" "));
    return "0";
  },
  ...change,
});

/** Runs `install` or `uninstall` below `dir`; what it printed. */
async function call(
  run: typeof runInstall,
  words: string[],
  dir: string,
  {
    flags = {},
    env = {},
    on = system(),
  }: { flags?: FlagValues; env?: Record<string, string>; on?: System } = {},
) {
  const seen = { code: -1, out: "", err: "" };
  const print = (to: "out" | "err") => (text: string) => {
    seen[to] += text;
  };
  seen.code = await run(words, {
    env,
    overrides: {},
    system: on,
    self: join(dir, "program"),
    flags: { prefix: [dir], ...flags },
    terminal: { out: print("out"), err: print("err"), width: null, live: false, liveWidth: 80 },
  });
  return seen;
}
const read = (dir: string, path: string) => readFileSync(join(dir, path), "utf8");

test("install writes executable, unit and a private environment file, and may be repeated", async () => {
  const dir = newDir();
  const bucket = { S3_ACCESS_KEY_ID: "AKID", S3_SECRET_ACCESS_KEY: "behind it" };
  const env = { SVC_DB_URL: "postgres://a:pa ss@db/x", ...bucket, UNRELATED: "1" };
  const first = await call(runInstall, ["hub"], dir, { env, flags: { "generate-secret": ["1"] } });
  expect(first.code).toBe(0);
  const text = read(dir, "etc/flotilla/hub.env");
  expect(text).toMatch(/^WORKER_SECRET=[\w-]{32}$/m);
  expect(text).toContain('\nSVC_DB_URL="postgres://a:pa ss@db/x"\n');
  expect(text).not.toContain("UNRELATED");
  expect(text).toContain('\nS3_ACCESS_KEY_ID=AKID\nS3_SECRET_ACCESS_KEY="behind it"\n');
  expect(text).toContain("\n#SVC_REDIS_URL=");
  expect(text).toContain("\nSVC_DATA_DIR=/var/lib/flotilla\n");
  expect(statSync(join(dir, "etc/flotilla/hub.env")).mode & 0o777).toBe(0o600);
  expect(statSync(join(dir, "usr/local/bin/flotilla")).mode & 0o777).toBe(0o755);
  const unit = read(dir, "etc/systemd/system/flotilla-hub.service");
  for (const line of ["User=flotilla", "RestartForceExitStatus=42", "StateDirectory=flotilla"])
    expect(unit).toContain(`\n${line}\n`);
  writeFileSync(join(dir, "program"), "second");
  const again = await call(runInstall, ["hub"], dir);
  expect(read(dir, "etc/flotilla/hub.env")).toBe(text);
  expect(again.out).toContain("hub.env exists and stays unchanged\n");
  expect(read(dir, "usr/local/bin/flotilla")).toBe("second");
  expect(read(dir, "usr/local/bin/flotilla.previous")).toBe("first");
  expect(first.out + again.out).not.toContain("pa ss");
});

test("install takes the files that hubs of one database share from the environment, for a hub and for a control plane", async () => {
  const dir = newDir();
  const env = {
    SVC_SECRET_KEY_FILE: "/var/lib/flotilla/secret.key",
    SVC_PLUGINS_DIR: "/srv/flotilla/plugins",
  };
  for (const role of ["hub", "control"]) {
    await call(runInstall, [role], dir, { env });
    for (const [name, value] of Object.entries(env))
      expect(read(dir, `etc/flotilla/${role}.env`)).toContain(`\n${name}=${value}\n`);
  }
});

test("install gives every worker of a machine its own name, displays and ports", async () => {
  const dir = newDir();
  for (const name of ["a", "b", "c"]) await call(runInstall, ["worker", name], dir);
  const values = ["a", "b", "c"].map((name) => {
    const lines = read(dir, `etc/flotilla/worker-${name}.env`).split("\n");
    return lines.filter((line) => /^(SVC_WORKER_ID|SVC_\w+_BASE|NOVNC_BASE_PORT)=/.test(line));
  });
  expect(values[0]).toHaveLength(5);
  expect(new Set(values.flat()).size).toBe(15);
  const unit = read(dir, "etc/systemd/system/flotilla-worker@.service");
  expect(unit).toContain("\nStateDirectory=flotilla-worker-%i\n");
  expect(unit).toContain("\nEnvironmentFile=/etc/flotilla/worker-%i.env\n");
});

test("install gives a control plane a port beside a hub's", async () => {
  const dir = newDir();
  await call(runInstall, ["control"], dir);
  expect(read(dir, "etc/flotilla/control.env")).toContain("\nSVC_PORT=8001\n");
  expect(read(dir, "etc/flotilla/control.env")).toContain(
    "\nSVC_DATA_DIR=/var/lib/flotilla-control\n",
  );
});

test("install --dry-run writes nothing and masks secrets", async () => {
  const dir = newDir();
  const env = {
    SVC_DB_URL: "postgres://db/x",
    WORKER_SECRET: "geheim",
    SVC_REDIS_URL: "redis://:geheim@r/0",
    S3_SECRET_ACCESS_KEY: "geheim",
  };
  const { code, out } = await call(runInstall, ["hub"], dir, { env, flags: { "dry-run": ["1"] } });
  expect(code).toBe(0);
  expect(out).toContain("ExecStart=/usr/local/bin/flotilla hub");
  expect(out).toContain("WORKER_SECRET=***");
  expect(out).not.toContain("geheim");
  expect(existsSync(join(dir, "etc"))).toBe(false);
});

test("install refuses what it cannot do, by name", async () => {
  const dir = newDir();
  const on = system({ is_root: false });
  const flags = { prefix: undefined as unknown as string[] };
  const refused = (words: string[], more: FlagValues = {}) =>
    call(runInstall, words, dir, { on, flags: { ...flags, ...more } });
  expect(refused(["hub"])).rejects.toThrow("needs root: sudo flotilla install hub");
  expect(refused(["router"])).rejects.toThrow('"router" is not one of hub, control, worker');
  expect(refused(["hub", "x"])).rejects.toThrow("only workers have names");
  expect(refused(["worker", "../x"])).rejects.toThrow("is not a worker name");
  expect(refused(["worker"], { user: ["root"] })).rejects.toThrow("--user: root is refused");
  expect(refused(["worker"], { "generate-secret": ["1"] })).rejects.toThrow("WORKER_SECRET");
  expect(refused(["hub"], { binary: ["/nowhere"] })).rejects.toThrow("--binary");
  const env = { WORKER_SECRET: "a\nExecStart=/bin/sh" };
  expect(call(runInstall, ["hub"], dir, { env })).rejects.toThrow(
    "WORKER_SECRET: must be one line",
  );
});

test("uninstall takes the unit away and keeps environment and executable; twice is no error", async () => {
  const dir = newDir();
  await call(runInstall, ["control"], dir);
  const first = await call(runUninstall, ["control"], dir);
  expect(first.out).toContain("kept:\n");
  expect(existsSync(join(dir, "etc/systemd/system/flotilla-control.service"))).toBe(false);
  expect(existsSync(join(dir, "etc/flotilla/control.env"))).toBe(true);
  expect(existsSync(join(dir, "usr/local/bin/flotilla"))).toBe(true);
  const again = await call(runUninstall, ["control"], dir);
  expect(again.code).toBe(0);
  expect(again.out).toContain("flotilla-control.service is not installed\n");
});

const SYSTEMD = Bun.which("systemd-analyze");

test.skipIf(SYSTEMD === null)("systemd finds no fault with the units", async () => {
  const dir = newDir();
  for (const role of ["hub", "control", "worker"]) await call(runInstall, [role], dir);
  // What every machine has besides.
  mkdirSync(join(dir, "usr/lib/systemd"), { recursive: true });
  cpSync("/lib/systemd/system", join(dir, "usr/lib/systemd/system"), { recursive: true });
  mkdirSync(join(dir, "bin"));
  copyFileSync("/bin/kill", join(dir, "bin/kill"));
  for (const unit of ["flotilla-hub", "flotilla-control", "flotilla-worker@w1"]) {
    const argv = ["systemd-analyze", "verify", "--man=no", `--root=${dir}`, `${unit}.service`];
    const { exitCode, stderr } = Bun.spawnSync(argv);
    expect({ unit, exitCode, stderr: stderr.toString() }).toEqual({
      unit,
      exitCode: 0,
      stderr: "",
    });
  }
});

test.skipIf(SYSTEMD === null)("the units are no more exposed than they were", async () => {
  const dir = newDir();
  for (const role of ["hub", "control", "worker"]) await call(runInstall, [role], dir);
  // Tenths. A running unit counts 0.2 less: 2.9, 1.4 and 2.5 (test/ops/lan/install.test.ts).
  const most = { "flotilla-hub": 31, "flotilla-control": 16, "flotilla-worker@": 27 };
  for (const [unit, threshold] of Object.entries(most)) {
    const argv = ["systemd-analyze", "security", "--offline=true", `--threshold=${threshold}`];
    const path = join(dir, "etc/systemd/system", `${unit}.service`);
    const { exitCode, stderr } = Bun.spawnSync([...argv, path]);
    expect({ unit, exitCode, stderr: stderr.toString() }).toEqual({
      unit,
      exitCode: 0,
      stderr: "",
    });
  }
});
