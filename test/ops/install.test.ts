import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { binaryRig } from "#test/support/rigs/binary.ts";
import { inEmptyDir } from "#test/support/rigs/program.ts";

/** `install` and `uninstall` of the compiled binary in a tree of files: what needs no systemd. */

const flotilla = binaryRig();

/** Below `dir`; its standard input is no terminal. */
const call = (dir: string, words: string[], env: Record<string, string> = {}) =>
  flotilla.run([...words, "--prefix", dir], { cwd: dir, env });

test(
  "install refuses values that the service would refuse, and writes nothing then",
  () =>
    inEmptyDir(async (dir) => {
      for (const [words, said] of [
        [["hub", "--port", "http"], 'SVC_PORT: "http" is not a number'],
        [["hub", "--set", "SVC_ADMIN_PASSWORD=short"], "SVC_ADMIN_PASSWORD"],
        [["hub", "--set", "SVC_REDIS_URL=redis://r"], "SVC_REDIS_URL: hubs that share Redis"],
        [
          ["worker", "--hub-url", "hub.lan"],
          "HUB_URL: must be a ws://, wss://, http:// or https:// URL",
        ],
        [["worker", "--lanes", "9", "--set", "NOVNC_BASE_PORT=65530"], "NOVNC_BASE_PORT"],
        [["worker", "--now"], "--now: a worker needs --hub-url"],
        [["hub", "--set", "SVC_PORT"], '--set: "SVC_PORT" is not KEY=VALUE'],
        [
          ["hub", "--set", "SVC_DATA_DIR=/x"],
          "--set SVC_DATA_DIR: cannot be changed, it is the unit's state directory",
        ],
        [["hub", "--set", "SVC_PORT=1", "--unset", "SVC_PORT"], "--unset SVC_PORT"],
      ] as const) {
        const { code, stderr } = await call(dir, ["install", ...words]);
        expect({ words, code }).toEqual({ words, code: 2 });
        expect(stderr).toContain(said);
      }
      expect(existsSync(join(dir, "etc"))).toBe(false);
      expect(existsSync(join(dir, "usr"))).toBe(false);
    }),
  240_000,
);

test(
  "install --set and --unset edit the environment file that is there, and say what they changed",
  () =>
    inEmptyDir(async (dir) => {
      const file = join(dir, "etc/flotilla/hub.env");
      await call(dir, ["install", "hub", "--port", "8100", "--set", "SVC_SUBMIT_WAIT_S=5"]);
      const before = readFileSync(file, "utf8");
      expect(before).toContain("\nSVC_PORT=8100\n");
      expect(before).toContain("\nSVC_SUBMIT_WAIT_S=5\n");
      const more = ["--set", "SVC_API_TOKEN=a b", "--unset", "SVC_SUBMIT_WAIT_S"];
      const edited = await call(dir, ["install", "hub", "--port", "8200", ...more]);
      expect(edited).toMatchObject({ code: 0, stderr: "" });
      expect(edited.stdout).toContain(
        "hub.env: added SVC_API_TOKEN; changed SVC_PORT; removed SVC_SUBMIT_WAIT_S\n",
      );
      expect(edited.stdout).not.toContain("a b");
      expect(readFileSync(file, "utf8")).toBe(
        before
          .replace("SVC_PORT=8100", "SVC_PORT=8200")
          .replace("#SVC_API_TOKEN=", 'SVC_API_TOKEN="a b"')
          .replace("SVC_SUBMIT_WAIT_S=5", "#SVC_SUBMIT_WAIT_S="),
      );
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const same = await call(dir, ["install", "hub", "--port", "8200"]);
      expect(same.stdout).toContain("hub.env exists and stays unchanged\n");
      // A variable of the caller's counts like a flag.
      const given = await call(dir, ["install", "hub"], { SVC_LOG_LEVEL: "debug" });
      expect(given.stdout).toContain("hub.env: added SVC_LOG_LEVEL\n");
      const bad = await call(dir, ["install", "hub", "--set", "SVC_PORT=99999"]);
      expect(bad.code).toBe(2);
      expect(readFileSync(file, "utf8")).toContain("\nSVC_PORT=8200\n");
    }),
  240_000,
);

test(
  "uninstall names everything it leaves, and --purge deletes it after a yes alone",
  () =>
    inEmptyDir(async (dir) => {
      for (const words of [["hub"], ["worker", "a"]]) await call(dir, ["install", ...words]);
      const data = join(dir, "var/lib/flotilla");
      await mkdir(data, { recursive: true });
      await Bun.write(join(data, "flotilla.db"), "x".repeat(2_000));
      const program = join(dir, "usr/local/bin/flotilla");
      await Bun.write(`${program}.previous`, "before");
      const plain = await call(dir, ["uninstall", "hub"]);
      expect(plain.code).toBe(0);
      const env = join(dir, "etc/flotilla/hub.env");
      for (const path of [env, data, program, `${program}.previous`])
        expect(plain.stdout).toContain(path);
      const unasked = await call(dir, ["uninstall", "hub", "--purge"]);
      expect(unasked.code).toBe(1);
      expect(unasked.stdout).toContain(`${data} (2.0 kB)`);
      expect(unasked.stderr).toContain(
        "this is not a terminal: use --yes to delete without asking",
      );
      expect([env, data, program].map((path) => existsSync(path))).toEqual([true, true, true]);
      const dry = await call(dir, ["uninstall", "hub", "--purge", "--dry-run"]);
      expect(dry.stdout).toContain(`# rm -r ${data}\n`);
      expect(existsSync(data)).toBe(true);
    }),
  240_000,
);

test(
  "uninstall --purge --yes leaves what other services use, and the last one takes that too",
  () =>
    inEmptyDir(async (dir) => {
      for (const words of [["hub"], ["control"]]) await call(dir, ["install", ...words]);
      const program = join(dir, "usr/local/bin/flotilla");
      for (const name of ["flotilla", "flotilla-control"])
        await mkdir(join(dir, "var/lib", name), { recursive: true });
      const hub = await call(dir, ["uninstall", "hub", "--purge", "--yes"]);
      expect(hub.code).toBe(0);
      expect(hub.stdout).toContain(`kept: ${program} (other services use it)\n`);
      expect(existsSync(join(dir, "var/lib/flotilla"))).toBe(false);
      expect(existsSync(join(dir, "etc/flotilla/hub.env"))).toBe(false);
      expect(existsSync(join(dir, "etc/flotilla/control.env"))).toBe(true);
      await call(dir, ["uninstall", "control", "--purge", "--yes"]);
      expect(existsSync(program)).toBe(false);
      expect(existsSync(join(dir, "etc/flotilla"))).toBe(false);
      expect(existsSync(join(dir, "var/lib/flotilla-control"))).toBe(false);
    }),
  240_000,
);
