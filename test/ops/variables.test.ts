import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addressOf, asNobody, binaryRig } from "#test/support/rigs/binary.ts";
import { inEmptyDir } from "#test/support/rigs/program.ts";

/** What an operator gives the program, by flag, variable, file or credential, and what it says of it. */

const flotilla = binaryRig();

const HUB = ["hub", "--host", "127.0.0.1", "--port", "0"];

async function statusWith(url: string, token: string | null): Promise<number> {
  const headers: Record<string, string> =
    token === null ? {} : { authorization: `Bearer ${token}` };
  return (await fetch(`${url}/jobs`, { headers })).status;
}

describe("a hub whose token stands in a file", () => {
  type Given = (dir: string) => Record<string, string>;
  const ways: [string, Given][] = [
    ["SVC_API_TOKEN_FILE names", (dir) => ({ SVC_API_TOKEN_FILE: join(dir, "SVC_API_TOKEN") })],
    ["systemd's LoadCredential= gives", (dir) => ({ CREDENTIALS_DIRECTORY: dir })],
    ["the configuration file names", (dir) => ({ SVC_CONFIG: join(dir, "flotilla.toml") })],
  ];
  for (const [way, envIn] of ways)
    test(`that ${way} is closed to everybody without it, and the client reads it likewise`, () =>
      inEmptyDir(async (dir) => {
        const file = join(dir, "SVC_API_TOKEN");
        writeFileSync(file, "t0ken\n", { mode: 0o600 });
        writeFileSync(join(dir, "flotilla.toml"), `SVC_API_TOKEN_FILE = ${JSON.stringify(file)}\n`);
        const hub = flotilla.start(HUB, { cwd: dir, env: envIn(dir) });
        const url = await addressOf(hub);
        expect(await statusWith(url, null)).toBe(401);
        expect(await statusWith(url, "t0ken")).toBe(200);
        const client = (env: Record<string, string>) =>
          flotilla.run(["jobs"], { cwd: dir, env: { SVC_HUB: url, ...env } });
        expect((await client({})).code).toBe(1);
        expect((await client({ SVC_API_TOKEN_FILE: file })).code).toBe(0);
        expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
        expect(hub.stdout + hub.stderr).not.toContain("t0ken");
      }));

  test("does not start when it may not read the file, and says so", () =>
    inEmptyDir(async (dir) => {
      const file = join(dir, "token");
      writeFileSync(file, "t0ken\n", { mode: 0o600 });
      // Only root can become somebody else; anybody else takes the right from himself.
      if (process.getuid?.() !== 0) chmodSync(file, 0);
      else chownSync(dir, 65_534, 65_534);
      const env = { SVC_API_TOKEN_FILE: file, HOME: dir };
      const hub = flotilla.start(HUB, { cwd: dir, env, prefix: asNobody() });
      expect(await flotilla.exitCode(hub)).toBe(2);
      expect(hub.stderr).toBe(
        `flotilla: SVC_API_TOKEN_FILE: ${file} may not be read by this user\n`,
      );
    }));
});

describe("a name that nobody reads", () => {
  for (const mode of ["dev", "hub", "control", "worker"])
    test(`keeps flotilla ${mode} from starting when it was to be a secret`, () =>
      inEmptyDir(async (dir) => {
        const env = { SVC_API_TOKNE: "x", HUB_URL: "ws://127.0.0.1:1" };
        const { code, stderr } = await flotilla.run([mode, "--data-dir", dir], { cwd: dir, env });
        expect(code).toBe(2);
        expect(stderr).toStartWith("flotilla: SVC_API_TOKNE: is not a variable of Flotilla");
        expect(stderr).toEndWith(", did you mean SVC_API_TOKEN?\n");
      }));

  test("is told in the log when it costs only a default", () =>
    inEmptyDir(async (dir) => {
      const hub = flotilla.start(HUB, { cwd: dir, env: { SVC_LOG_LEVLE: "debug" } });
      await addressOf(hub);
      expect(hub.stderr).toContain(
        "SVC_LOG_LEVLE: is not a variable of Flotilla, did you mean SVC_LOG_LEVEL?",
      );
      expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
    }));

  test("is told by a command that would work on the wrong data without it", () =>
    inEmptyDir(async (dir) => {
      const env = { SVC_DATADIR: "/srv/flotilla" };
      const { stderr } = await flotilla.run(["migrate", "--dry-run"], { cwd: dir, env });
      expect(stderr).toContain("warning: SVC_DATADIR: is not a variable of Flotilla");
    }));
});

describe("flotilla config", () => {
  const env = { SVC_API_TOKEN: "t0ken", SVC_PORT: "8123", SVC_PROT: "1" };

  test("show gives every value, where it comes from, and no secret", () =>
    inEmptyDir(async (dir) => {
      const file = join(dir, "flotilla.toml");
      writeFileSync(file, 'SVC_LOG_LEVEL = "warn"\nSVC_ADMIN_PASSWORD = "hunter2hunter2"\n');
      const words = ["config", "show", "hub", "--config", file, "--host", "127.0.0.1"];
      const { code, stdout, stderr } = await flotilla.run([...words, "--json"], { cwd: dir, env });
      expect(code).toBe(0);
      expect(stdout + stderr).not.toMatch(/t0ken|hunter2/);
      const { variables, warnings } = JSON.parse(stdout);
      const of = (name: string) => variables.find((v: { name: string }) => v.name === name);
      expect(of("SVC_API_TOKEN")).toEqual({
        name: "SVC_API_TOKEN",
        value: "***",
        from: "environment",
        file: null,
      });
      expect(of("SVC_LOG_LEVEL")).toMatchObject({ value: "warn", from: "config_file", file });
      expect(of("SVC_HOST")).toMatchObject({ value: "127.0.0.1", from: "flag" });
      expect(of("SVC_DB_URL")).toMatchObject({
        value: `sqlite:${join(dir, "data/flotilla.db")}`,
        from: "default",
      });
      expect(warnings).toEqual([expect.stringContaining("SVC_PROT")]);
      const table = await flotilla.run(words, { cwd: dir, env });
      expect(table.stdout).toMatch(/SVC_PORT +8123 +environment\n/);
      expect(table.stdout).toMatch(/SVC_ADMIN_PASSWORD +\*\*\* +config file /);
    }));

  test("check says whether a mode would start, with every fault at once", () =>
    inEmptyDir(async (dir) => {
      const good = await flotilla.run(["config", "check", "control"], { cwd: dir });
      expect(good).toMatchObject({ code: 0, stderr: "" });
      const bad = { SVC_PORT: "x", SVC_ADMIN_PASSWORD: "short", SVC_TOKEN: "t" };
      const { code, stderr } = await flotilla.run(["config", "check"], { cwd: dir, env: bad });
      expect(code).toBe(2);
      expect(stderr.trimEnd().split("\n")).toEqual([
        expect.stringContaining("SVC_TOKEN: is not a variable"),
        'flotilla: SVC_PORT: "x" is not a number',
        "flotilla: SVC_ADMIN_PASSWORD: must be at least 12 characters long, not 5",
      ]);
    }));
});
