import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "#test/support/rigs/program.ts";

/** The first minutes of a new user: the shell scripts in a checkout of their own, on machines that lack this and that. */

const ROOT = join(import.meta.dir, "../..");
const [, BUN_VERSION] =
  /"bun@([^"]+)"/.exec(readFileSync(join(ROOT, "package.json"), "utf8")) ?? [];
/** What every Debian has. */
const BASE = "sh sed cat cksum dirname readlink mkdir ln grep tr mktemp rm mv env dpkg chmod".split(
  " ",
);

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-first-"));
  chmodSync(dir, 0o755);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function script(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

/** Programs of a machine that has everything; each is a line of shell. */
const COMPLETE: Record<string, string> = {
  id: "echo 1000",
  "dpkg-query": "echo install ok installed",
  chromium: ":",
  chromedriver: ":",
  Xvnc: ":",
  bwrap: ":",
  "fc-match": ":",
  "fc-list": "echo Font",
  "apt-get": 'echo "apt-get was run: $*"; exit 1',
  bun: `[ "$1" = --version ] && echo ${BUN_VERSION} || echo "bun was run: $*"`,
};

/** A checkout and a PATH with what a new user has; `lacks` are missing there, `has` are other than usual. */
function newUser({
  lacks = [],
  has = {},
}: {
  lacks?: string[];
  has?: Record<string, string>;
} = {}) {
  const home = mkdtempSync(join(dir, "user-"));
  const [checkout, path] = [join(home, "check out"), join(home, "bin")];
  for (const made of [checkout, path]) mkdirSync(made);
  cpSync(join(ROOT, "scripts"), join(checkout, "scripts"), { recursive: true });
  for (const file of ["package.json", "bun.lock"]) cpSync(join(ROOT, file), join(checkout, file));
  mkdirSync(join(checkout, "node_modules"));
  for (const name of BASE) symlinkSync(Bun.which(name) ?? "", join(path, name));
  for (const [name, text] of Object.entries({ ...COMPLETE, ...has }))
    if (!lacks.includes(name)) script(join(path, name), text);
  const run = (command: string[], { cwd = "/" } = {}) => {
    const env = { HOME: home, PATH: path, TMPDIR: home };
    const words = Object.entries(env).map((entry) => entry.join("="));
    return runProgram([Bun.which("env") ?? "env", "-i", ...words, ...command], { cwd });
  };
  return { home, checkout, path, run, quickstart: join(checkout, "scripts/quickstart") };
}

test("quickstart --help says what it does, and does nothing", async () => {
  const user = newUser({ lacks: ["Xvnc", "bun"] });
  const { code, stdout, stderr } = await user.run([user.quickstart, "--help"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  for (const word of ["quickstart [URL] [--once]", "--port", "--headless-lanes", "Without root"])
    expect(stdout).toContain(word);
});

test("on a machine that has everything quickstart asks for nothing and starts dev mode", async () => {
  const user = newUser();
  const { code, stdout, stderr } = await user.run([user.quickstart, "--once"]);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: `bun was run: ${user.checkout}/hub/main.ts dev --demo --log-level warn --once\n`,
    stderr: "bun was run: install --frozen-lockfile --production\n",
  });
});

test("what the program runs with is enough for quickstart, and not for the tests", async () => {
  const user = newUser();
  const stamp = join(user.checkout, "node_modules/.flotilla-lock");
  await user.run([user.quickstart, "--once"]);
  expect((await user.run([user.quickstart, "--once"])).stderr).toBe("");
  const lock = readFileSync(stamp, "utf8");
  expect(lock).toEndWith(", to run");
  const build = join(user.checkout, "scripts/build");
  expect((await user.run([build])).stderr).toBe("bun was run: install --frozen-lockfile\n");
  expect(readFileSync(stamp, "utf8")).toBe(lock.replace(", to run", ""));
  // All of it is more than enough.
  expect((await user.run([user.quickstart, "--once"])).stderr).toBe("");
});

test("quickstart --minimal wants no display and no further fonts, and starts headless lanes", async () => {
  const user = newUser({ lacks: ["Xvnc"], has: { "fc-list": "" } });
  const { code, stdout, stderr } = await user.run([user.quickstart, "--minimal", "--once"]);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: "bun was run: install --frozen-lockfile --production\n",
  });
  expect(stdout).toEndWith("dev --demo --log-level warn --headless-lanes --once\n");
});

test("quickstart as root makes the account that the browsers run as, unless it is told of another", async () => {
  const has = { id: "[ $# -gt 1 ] && exit 1; echo 0", useradd: 'echo "useradd was run: $*" >&2' };
  const user = newUser({ has });
  const { code, stderr } = await user.run([user.quickstart, "--once"]);
  expect(code).toBe(0);
  expect(stderr).toContain("making the account flotilla-browser, which the browsers run as\n");
  expect(stderr).toMatch(
    /^useradd was run: --system .*--shell \/usr\/sbin\/nologin flotilla-browser$/m,
  );
  for (const told of ["SVC_BROWSER_USER=somebody", "SVC_BROWSER_SANDBOX=off"]) {
    const env = Bun.which("env") ?? "env";
    const other = await newUser({ has }).run([env, told, user.quickstart, "--once"]);
    expect({ told, stderr: other.stderr }).toEqual({
      told,
      stderr: expect.not.stringContaining("useradd"),
    });
  }
});

test("quickstart says what it installs and how large it is, and takes away what it alone needed", async () => {
  const user = newUser({ lacks: ["bun", "Xvnc"], has: { id: "echo 0" } });
  const made = (name: string) => `printf '#!/bin/sh\\n%s\\n' '${name}'`;
  const bun = `[ "$1" = --version ] && echo ${BUN_VERSION} || echo "bun was run: $*"`;
  // Fetches one executable, of which the platform's runs.
  const npm = `bin="${user.checkout}/.bun/node_modules/@oven/bun-here/bin"
mkdir -p "$bin" "${user.checkout}/.bun/cache" && cp "${user.home}/bun" "$bin/bun"`;
  writeFileSync(join(user.home, "npm"), `#!/bin/sh\n${npm}\n`, { mode: 0o755 });
  writeFileSync(join(user.home, "bun"), `#!/bin/sh\n${bun}\n`, { mode: 0o755 });
  symlinkSync(Bun.which("cp") ?? "", join(user.path, "cp"));
  script(
    join(user.path, "apt-get"),
    `echo "$*" >>"${user.home}/apt.log"
case "$*" in
  *--assume-no*npm) echo "0 upgraded, 9 newly installed, 0 to remove and 0 not upgraded."
    echo "Need to get 46.7 MB of archives."; echo "After this operation, 236 MB of additional disk space will be used."; exit 1 ;;
  *--assume-no*) echo "1 upgraded, 12 newly installed, 0 to remove and 0 not upgraded."
    echo "Need to get 9,876 kB/10.2 MB of archives."; echo "After this operation, 53.0 MB of additional disk space will be used."; exit 1 ;;
  "-s install"*npm) echo "Inst node-a (1 Debian [all])"; echo "Inst npm (9 Debian [all])" ;;
  *"install -y"*npm) cp "${user.home}/npm" "${user.path}/npm" ;;
  *"install -y"*) ${made(":")} >"${user.path}/Xvnc"; chmod 755 "${user.path}/Xvnc" ;;
  *purge*) rm "${user.path}/npm" ;;
esac`,
  );
  const { code, stdout, stderr } = await user.run([user.quickstart, "--once"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
  expect(stderr).toContain(
    "installing: tigervnc-standalone-server (12 packages, 9,876 kB/10.2 MB to download, 53.0 MB on disk)\n",
  );
  expect(stderr).toContain("removed again (9 packages, 46.7 MB to download, 236 MB on disk)\n");
  const apt = readFileSync(join(user.home, "apt.log"), "utf8").trim().split("\n");
  expect(apt.at(-1)).toEndWith("purge -y node-a npm");
  expect(apt.filter((line) => line.includes("install -y"))).toHaveLength(2);
  for (const line of apt.filter((each) => each.includes("install -y")))
    expect(line).toContain("--no-install-recommends");
  expect(existsSync(join(user.checkout, ".bun/node_modules"))).toBe(false);
  expect(existsSync(join(user.checkout, ".bun/cache"))).toBe(false);
  expect(stdout).toContain("hub/main.ts dev");
  // The executable is a file of the checkout's own, which the next start finds.
  expect((await user.run([user.quickstart, "--once"])).stderr).toBe("");
});

test("without root quickstart names the packages and the command for root", async () => {
  const user = newUser({ lacks: ["Xvnc", "bwrap"] });
  const { code, stdout, stderr } = await user.run([user.quickstart]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(
    "Run as root: apt-get update && apt-get install -y --no-install-recommends tigervnc-standalone-server bubblewrap\n",
  );
  expect(stderr).not.toContain("apt-get was run");
});

test("a font that is missing is told and stops nobody", async () => {
  const user = newUser({ has: { "fc-list": "case $1 in *1f680*) ;; *) echo Font ;; esac" } });
  const { code, stdout, stderr } = await user.run([user.quickstart, "--once"]);
  expect(code).toBe(0);
  expect(stderr).toContain("to install them: apt-get install fonts-noto-color-emoji\n");
  expect(stdout).toContain("hub/main.ts dev");
  const root = newUser({
    has: { id: "echo 0", "fc-list": "", "apt-get": "exit 100" },
  });
  // As root, but apt reaches no mirror.
  const offline = await root.run([root.quickstart, "--once"]);
  expect(offline.code).toBe(0);
  expect(offline.stdout).toContain("hub/main.ts dev");
});

test("without a network quickstart says what could not be fetched", async () => {
  const npm = "echo 'npm error network' >&2; exit 1";
  const no_bun = newUser({ lacks: ["bun"], has: { npm } });
  const first = await no_bun.run([no_bun.quickstart]);
  expect(first.code).toBe(1);
  expect(first.stderr).toContain(
    `bun ${BUN_VERSION} could not be fetched from the npm registry: is there a network?`,
  );
  const bun = `[ "$1" = --version ] && echo ${BUN_VERSION} || exit 1`;
  const no_packages = newUser({ has: { bun } });
  const second = await no_packages.run([no_packages.quickstart]);
  expect(second.code).toBe(1);
  expect(second.stderr).toContain("could not be fetched from the npm registry");
  const no_apt = newUser({ lacks: ["Xvnc"], has: { id: "echo 0", "apt-get": "exit 100" } });
  const third = await no_apt.run([no_apt.quickstart]);
  expect(third.code).toBe(1);
  expect(third.stderr).toContain("failed: is there a network");
});

test("in somebody else's checkout quickstart says that it may not write there", async () => {
  const user = newUser({ lacks: ["bun"], has: { id: "echo nobody" } });
  const as_nobody =
    process.getuid?.() === 0 ? ["setpriv", "--reuid", "nobody", "--clear-groups", "--"] : [];
  chmodSync(user.home, 0o755);
  chmodSync(user.checkout, 0o555);
  symlinkSync(Bun.which("setpriv") ?? "", join(user.path, "setpriv"));
  const { code, stderr } = await user.run([...as_nobody, user.quickstart]);
  chmodSync(user.checkout, 0o755);
  expect(code).toBe(1);
  expect(stderr).toContain(`nobody may not write to ${user.checkout}: clone Flotilla into`);
});

test("scripts/flotilla runs from a shell without bun, from any directory and through a link", async () => {
  const user = newUser({ lacks: ["bun"] });
  const link = join(user.home, "flotilla");
  symlinkSync(join(user.checkout, "scripts/flotilla"), link);
  const before = await user.run([link, "jobs"]);
  expect(before.code).toBe(3);
  expect(before.stderr).toContain(`run ${user.checkout}/scripts/quickstart --once`);
  mkdirSync(join(user.checkout, ".bun/bin"), { recursive: true });
  script(join(user.checkout, ".bun/bin/bun"), COMPLETE.bun ?? "");
  const after = await user.run([link, "fetch", "http://a b/"]);
  expect({ code: after.code, stdout: after.stdout }).toEqual({
    code: 0,
    stdout: `bun was run: ${user.checkout}/hub/main.ts fetch http://a b/\n`,
  });
});
