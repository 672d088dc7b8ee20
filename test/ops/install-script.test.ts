import { afterAll, beforeAll, expect, test } from "bun:test";
import { createPublicKey } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newReleaseKey, writeRelease } from "#test/support/fakes/released.ts";
import { runProgram } from "#test/support/rigs/program.ts";
import { installScript } from "../../scripts/packaging/install-script.ts";
import { signSums } from "../../scripts/release.ts";

/** install.sh of a release, under dash: what it installs, and that it installs nothing that is not signed (rules/releases#install-script). */

const NAME = "9.1.0";
let root: string;
let release: string;
let pem: string;
let served: ReturnType<typeof Bun.serve>;

const publicPem = (private_pem: string): string =>
  createPublicKey(private_pem).export({ type: "spki", format: "pem" }).toString();

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "flotilla-install-sh-"));
  release = join(root, "release");
  pem = newReleaseKey();
  const released_at = "2026-11-26T08:00:00.000Z";
  await writeRelease(release, {
    name: NAME,
    version: "aaaaaaaaaaaa",
    released_at,
    private_pem: pem,
  });
  served = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const file = join(release, new URL(url).pathname);
      return existsSync(file) ? new Response(Bun.file(file)) : new Response("", { status: 404 });
    },
  });
  const url = `http://127.0.0.1:${served.port}`;
  const script = await installScript({ name: NAME, url, public_pem: publicPem(pem) });
  writeFileSync(join(root, "install.sh"), script);
}, 120_000);
afterAll(() => {
  served.stop(true);
  rmSync(root, { recursive: true, force: true });
});

let runs = 0;
/** Its own prefix for each run, and what is below it afterwards. */
async function install(words: string[], script = join(root, "install.sh")) {
  runs += 1;
  const prefix = join(root, `prefix-${runs}`);
  const ended = await runProgram(["dash", script, "--prefix", prefix, ...words]);
  return { ...ended, prefix, there: existsSync(prefix) ? readdirSync(prefix).sort() : [] };
}

/** A copy of the release in which something differs. */
function changed(change: (dir: string) => void): string {
  runs += 1;
  const dir = join(root, `changed-${runs}`);
  cpSync(release, dir, { recursive: true });
  change(dir);
  return dir;
}

test("one line installs the program, its completions and its manual page from where it is published", async () => {
  const { code, stdout, stderr, prefix } = await install([]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain(`Flotilla ${NAME} is ${prefix}/bin/flotilla\n`);
  expect(statSync(join(prefix, "bin/flotilla")).mode & 0o777).toBe(0o755);
  const { stdout: version } = await runProgram([join(prefix, "bin/flotilla"), "--version"]);
  expect(version).toBe("flotilla aaaaaaaaaaaa\n");
  for (const file of [
    "share/bash-completion/completions/flotilla",
    "share/zsh/site-functions/_flotilla",
    "share/fish/vendor_completions.d/flotilla.fish",
    "share/man/man1/flotilla.1",
  ])
    expect({ file, size: statSync(join(prefix, file)).size > 1_000 }).toEqual({ file, size: true });
  expect(readdirSync(join(prefix, "bin"))).toEqual(["flotilla"]);
}, 60_000);

test("nothing is unpacked whose checksums are not signed with the key, or that differs from them", async () => {
  const archives = readdirSync(release).filter((name) => name.endsWith(".tar.gz"));
  const spoil = (dir: string) => {
    for (const name of archives) appendFileSync(join(dir, name), "\0");
  };
  const other_key = newReleaseKey();
  for (const [dir, said] of [
    [changed(spoil), "but the signed list says"],
    // Whoever changes both has no key.
    [
      changed((dir) => signSums(dir, [...archives, "RELEASE"], other_key)),
      "is not signed with the release key",
    ],
    [
      changed((dir) => appendFileSync(join(dir, "SHA256SUMS"), "\n")),
      "is not signed with the release key",
    ],
    [changed((dir) => rmSync(join(dir, "SHA256SUMS.sig"))), "has no SHA256SUMS.sig"],
    [
      changed((dir) => appendFileSync(join(dir, "RELEASE"), "name 9.2.0\n")),
      "RELEASE has the checksum",
    ],
    [changed((dir) => signSums(dir, ["RELEASE"], pem)), "the release has no flotilla-9.1.0-linux-"],
    [`${served.url}nowhere`, "could not be fetched"],
  ] as const) {
    const { code, stderr, there } = await install(["--from", dir]);
    expect({ said, code, there }).toEqual({ said, code: 1, there: [] });
    expect(stderr).toContain(said);
  }
}, 60_000);

test("a release that is published again in the place of a later one is refused, unless it is asked for", async () => {
  const url = served.url.href.replace(/\/$/, "");
  const later = join(root, "later.sh");
  const script = await installScript({ name: "9.2.0", url, public_pem: publicPem(pem) });
  writeFileSync(later, script);
  const refused = await install([], later);
  expect(refused).toMatchObject({ code: 1, there: [] });
  expect(refused.stderr).toContain("has 9.1.0, but this script is of 9.2.0");
  expect((await install(["--from", url], later)).code).toBe(0);
}, 60_000);

test("the script of the repository trusts no key, and one that was cut off does nothing", async () => {
  const own = join(import.meta.dir, "../../scripts/install.sh");
  const keyless = await install(["--from", release], own);
  expect(keyless).toMatchObject({ code: 1, there: [] });
  expect(keyless.stderr).toContain("name the release key with --key FILE");
  expect(
    (await install(["--from", release, "--key", join(release, "release.pub")], own)).code,
  ).toBe(0);
  const text = readFileSync(join(root, "install.sh"), "utf8");
  const cut = join(root, "cut.sh");
  for (const part of [0.5, 0.9, 0.99]) {
    writeFileSync(cut, text.slice(0, Math.floor(text.length * part)));
    expect((await install([], cut)).there).toEqual([]);
  }
}, 60_000);

const SHELLCHECK = Bun.which("shellcheck");
const OF_A_SHELL = /^#!.*\/(ba)?sh\b|^# shellcheck shell=/m;

/** What a file says of its language, in its first two lines. */
const headOf = (path: string): string =>
  existsSync(path) && statSync(path).isFile()
    ? readFileSync(path, "latin1").split("\n", 2).join("\n")
    : "";

test.skipIf(SHELLCHECK === null)(
  "shellcheck finds nothing in the scripts of the tree",
  async () => {
    const root = join(import.meta.dir, "../..");
    const tracked = await runProgram(["git", "-C", root, "ls-files", "-z"]);
    const scripts = tracked.stdout
      .split("\0")
      .map((name) => join(root, name))
      .filter((path) => OF_A_SHELL.test(headOf(path)));
    expect(scripts.length).toBeGreaterThan(10);
    const { code, stdout } = await runProgram([
      SHELLCHECK ?? "",
      "--external-sources",
      `--source-path=${join(root, "scripts")}`,
      ...scripts,
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  },
  60_000,
);
