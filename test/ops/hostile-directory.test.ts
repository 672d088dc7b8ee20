import { expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { COMMAND_NAMES, type Command } from "#hub/program/cli/commands.ts";
import { MODES, type Mode } from "#hub/program/cli/flags.ts";
import { addressOf, binaryRig } from "#test/support/rigs/binary.ts";
import { inEmptyDir } from "#test/support/rigs/program.ts";
import { lanePorts } from "#test/support/servers/ports.ts";

/**
 * Whoever can write to a directory must not decide what the program does that somebody else, root say, runs there. Each
 * file here is one that Bun, or a program built with it, reads from its working directory when it is not told otherwise.
 */

const flotilla = binaryRig();

const RAN = "ran-here";
/** Says who ran it, beside itself, whatever it was loaded as. */
const EVIL = (by: string) =>
  `require("node:fs").appendFileSync(${JSON.stringify(RAN)}, ${JSON.stringify(`${by}\n`)});\n`;

/** A mode does not start with these values, so that nobody could miss that they were read. */
const DOTENV = "SVC_LOG_LEVEL=loud\nSVC_PORT=none\nLANE_POOL=none\n";

/** Packages that Bun or a bundled library asks for by name. */
const PACKAGES = ["better-sqlite3", "bufferutil", "node-gyp-build", "playwright-core", "zod"];

/** By path below the directory. */
function hostileFiles(): Record<string, string> {
  const files: Record<string, string> = {
    "bunfig.toml":
      'preload = ["./evil.ts"]\nlogLevel = "debug"\n[define]\n"process.getuid" = "0"\n',
    "evil.ts": EVIL("bunfig.toml"),
    "package.json": JSON.stringify({
      name: "evil",
      type: "commonjs",
      imports: { "#*": "./evil.ts" },
      overrides: { zod: "file:./evil.ts" },
    }),
    "tsconfig.json": JSON.stringify({
      compilerOptions: { baseUrl: ".", paths: { "*": ["./evil.ts"] }, jsxImportSource: "./evil" },
    }),
    "jsconfig.json": "{}",
    ".npmrc": "registry=http://127.0.0.1:1/\n",
  };
  for (const name of [".env", ".env.local", ".env.production", ".env.development"])
    files[name] = DOTENV;
  for (const name of PACKAGES) {
    files[`node_modules/${name}/package.json`] = JSON.stringify({ name, main: "index.js" });
    files[`node_modules/${name}/index.js`] = EVIL(name);
  }
  return files;
}

const LONG_AGO = new Date("2001-01-01T00:00:00Z");

/** @returns the files that anybody has read since they were written, of those that were written. */
function plantIn(dir: string): () => string[] {
  const files = Object.entries(hostileFiles());
  for (const [name, content] of files) {
    mkdirSync(join(dir, name, ".."), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  // A file that was last read before it was last written gets the time of its next read, also on `relatime`.
  for (const [name] of files) utimesSync(join(dir, name), LONG_AGO, new Date());
  return () =>
    files
      .map(([name]) => name)
      .filter((name) => statSync(join(dir, name)).atimeMs !== LONG_AGO.getTime());
}

/** What was read or run there is nothing. */
function expectUntouched(dir: string, read: () => string[], of: string): void {
  expect({ of, read: read() }).toEqual({ of, read: [] });
  expect({
    of,
    ran: existsSync(join(dir, RAN)) ? readFileSync(join(dir, RAN), "utf8") : "",
  }).toEqual({ of, ran: "" });
}

test("a read of a file is seen here, or the other tests would prove nothing", () =>
  inEmptyDir(async (dir) => {
    const read = plantIn(dir);
    expect(read()).toEqual([]);
    readFileSync(join(dir, ".env"));
    expect(read()).toEqual([".env"]);
  }));

/** Enough of a command line that the command does its work, or fails at it. */
const COMMAND_LINES: Partial<Record<Command, string[]>> = {
  fetch: ["http://127.0.0.1:1/"],
  cancel: ["some-job"],
  sessions: ["show", "some-session"],
  screenshot: ["http://127.0.0.1:1/"],
  pdf: ["http://127.0.0.1:1/"],
  tasks: ["list", "words"],
  logs: ["--follow"],
  // Nothing may be opened on the desktop of who runs this.
  open: ["--print"],
  bench: ["--claims", "0"],
  completions: ["bash"],
  submit: ["words", "one"],
  queue: ["words"],
  runs: ["words"],
  admin: ["reset-password"],
  doctor: ["hub", "--json"],
  install: ["hub", "--dry-run", "--prefix", "root"],
  uninstall: ["hub", "--dry-run", "--prefix", "root"],
  migrate: ["--dry-run"],
  backup: ["saved.tar.gz"],
  restore: ["saved.tar.gz"],
};

for (const command of COMMAND_NAMES)
  test(`flotilla ${command} reads and runs nothing of the directory that it runs in`, () =>
    inEmptyDir(async (dir) => {
      const read = plantIn(dir);
      const args = [command, ...(COMMAND_LINES[command] ?? [])];
      const { code, stderr } = await flotilla.run(args, {
        cwd: dir,
        // Nobody listens there; somebody may on the default port.
        env: { SVC_HUB: "http://127.0.0.1:1" },
      });
      expect(stderr).not.toContain("loud");
      expect(code).toBeLessThan(70);
      expectUntouched(dir, read, command);
    }));

for (const args of [["--version"], ["--help"], []])
  test(`flotilla ${args.join(" ")} reads and runs nothing of the directory that it runs in`, () =>
    inEmptyDir(async (dir) => {
      const read = plantIn(dir);
      await flotilla.run(args, { cwd: dir });
      expectUntouched(dir, read, args.join(" "));
    }));

const MODE_LINES: Record<Mode, string[]> = {
  dev: ["--port", "0", "--headless-lanes", "--lanes", "1"],
  hub: ["--host", "127.0.0.1", "--port", "0"],
  control: ["--host", "127.0.0.1", "--port", "0"],
  worker: ["--hub-url", "ws://127.0.0.1:1", "--headless-lanes", "--lanes", "1"],
};

for (const mode of MODES)
  test(
    `flotilla ${mode} reads and runs nothing of the directory that it runs in, also when that is its data's`,
    () =>
      inEmptyDir(async (dir) => {
        const read = plantIn(dir);
        const program = flotilla.start([mode, ...MODE_LINES[mode], "--data-dir", "."], {
          cwd: dir,
          env: { HOME: dir, TMPDIR: dir, ...lanePorts() },
        });
        if (mode === "worker") await program.says("lane warm");
        else await addressOf(program);
        if (mode === "dev") await program.says("lane warm");
        expect(await flotilla.end(program, "SIGTERM")).toBe(0);
        expectUntouched(dir, read, mode);
        expect(readdirSync(dir)).toContain("bunfig.toml");
      }),
    240_000,
  );
