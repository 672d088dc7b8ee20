import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Chrome's package, as it is installed where the distribution has its browser only as a snap: from the test's own repository,
 * which looks like Google's, with the test's own keys, in a separate root of apt. Nothing on this machine is changed.
 */

const SETUP = join(import.meta.dir, "../../scripts/setup.sh");
const PACKAGE = "google-chrome-stable";

let dir: string;
/** Where keys are made; a long path would be too long for the agent's socket. */
let gnupg: string;

const run = (argv: string[], env: Record<string, string> = {}) =>
  Bun.spawnSync(argv, { cwd: dir, env: { ...process.env, ...env }, stderr: "pipe" });

function sure(argv: string[]): string {
  const { exitCode, stdout, stderr } = run(argv, { GNUPGHOME: gnupg });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
  return stdout.toString();
}

/** Fingerprint of a new key that signs. */
function newKey(name: string): string {
  const make = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", name];
  sure([...make, "ed25519", "sign", "never"]);
  const said = sure(["gpg", "--batch", "--with-colons", "--list-keys", name]);
  return /^fpr:+([0-9A-F]{40}):/m.exec(said)?.[1] ?? "";
}

let google: string;
let stranger: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-chrome-"));
  gnupg = mkdtempSync("/tmp/gnupg-");
  google = newKey("google@test");
  stranger = newKey("stranger@test");
  const control = [
    `Package: ${PACKAGE}`,
    ...["Version: 1", "Architecture: amd64", "Maintainer: a <a@test>", "Description: browser", ""],
  ];
  mkdirSync(join(dir, "tree/DEBIAN"), { recursive: true });
  writeFileSync(join(dir, "tree/DEBIAN/control"), control.join("\n"));
}, 180_000);
afterAll(() => {
  Bun.spawnSync(["gpgconf", "--homedir", gnupg, "--kill", "all"]);
  rmSync(gnupg, { recursive: true, force: true });
  rmSync(dir, { recursive: true, force: true });
});

const sum = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

/** A repository signed with this key, and the file of keys that its publisher gives out. */
function publish(name: string, { key, gives }: { key: string; gives: string[] }) {
  const repository = join(dir, name);
  const list = join(repository, "dists/stable/main/binary-amd64");
  mkdirSync(list, { recursive: true });
  sure(["dpkg-deb", "--build", "--root-owner-group", "tree", join(repository, "chrome.deb")]);
  const deb = join(repository, "chrome.deb");
  const entry = [
    readFileSync(join(dir, "tree/DEBIAN/control"), "utf8").trim(),
    ...["Filename: chrome.deb", `Size: ${readFileSync(deb).byteLength}`, `SHA256: ${sum(deb)}`, ""],
  ];
  writeFileSync(join(list, "Packages"), entry.join("\n"));
  const packages = join(list, "Packages");
  const size = readFileSync(packages).byteLength;
  const release = [
    ...["Suite: stable", "Codename: stable", "Components: main", "Architectures: amd64"],
    ...[`Date: ${new Date().toUTCString().replace("GMT", "UTC")}`, "SHA256:"],
    ` ${sum(packages)} ${size} main/binary-amd64/Packages`,
  ];
  writeFileSync(join(repository, "dists/stable/Release"), `${release.join("\n")}\n`);
  const to = join(repository, "dists/stable/InRelease");
  const from = join(repository, "dists/stable/Release");
  sure(["gpg", "--batch", "--local-user", key, "--output", to, "--clearsign", from]);
  const keys = join(repository, "keys.pub");
  writeFileSync(keys, sure(["gpg", "--batch", "--armor", "--export", ...gives]));
  return { repository, deb, keys };
}

/** Runs what quickstart runs, in a root of apt's own, in which a package is fetched and verified instead of unpacked. */
function installChrome(name: string, repository: string, keys: string) {
  const root = join(dir, `${name}-apt`);
  for (const path of [
    "etc/sources.list.d",
    "lists/partial",
    "cache/archives/partial",
    "etc/apt.conf.d",
    "etc/preferences.d",
  ])
    mkdirSync(join(root, path), { recursive: true });
  writeFileSync(
    join(root, "apt.conf"),
    `Dir::Etc "${root}/etc";
Dir::State::lists "${root}/lists";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "${root}/cache";
APT::Sandbox::User "root";
APT::Architecture "amd64";
APT::Get::Download-Only "true";
Debug::NoLocking "true";
`,
  );
  const source = join(root, "etc/sources.list.d/flotilla-chrome.list");
  const keyring = join(root, "etc/flotilla-chrome.gpg");
  const script = `. ${SETUP}
CHROME_KEY=${google} CHROME_KEY_URL=file://${keys} CHROME_PACKAGES=copy:${repository}
CHROME_SOURCE=${source} CHROME_KEYRING=${keyring}
as_root() { "$@"; }
install_chrome_on_ubuntu`;
  // The cache must stay to be looked at, although setup asks apt to keep nothing.
  const { exitCode, stderr } = run(["sh", "-c", script, SETUP], {
    APT_CONFIG: join(root, "apt.conf"),
  });
  const fetched = readdirSync(join(root, "cache/archives")).filter((file) => file.endsWith(".deb"));
  const left = [source, keyring].filter((path) => existsSync(path));
  return { exitCode, said: stderr.toString(), fetched, left };
}

test("the package is taken when the pinned key has signed its list, also among other keys", () => {
  const { repository, keys } = publish("good", { key: google, gives: [stranger, google] });
  const { said, fetched, left } = installChrome("good", repository, keys);
  expect({ said, fetched }).toEqual({ said: "", fetched: [`${PACKAGE}_1_amd64.deb`] });
  expect(left).toEqual([]);
}, 180_000);

test("a list that another key signed is refused, though its publisher gives that key out beside the pinned one", () => {
  const { repository, keys } = publish("other", { key: stranger, gives: [google, stranger] });
  const { exitCode, said, fetched, left } = installChrome("other", repository, keys);
  expect(exitCode).toBe(1);
  expect(said).toContain("is not signed");
  expect({ fetched, left }).toEqual({ fetched: [], left: [] });
}, 180_000);

test("a file of keys without the pinned one is refused before apt is asked", () => {
  const { repository, keys } = publish("none", { key: stranger, gives: [stranger] });
  const { exitCode, said, fetched, left } = installChrome("none", repository, keys);
  expect(exitCode).toBe(1);
  expect(said).toContain(`has not the key ${google}`);
  expect({ fetched, left }).toEqual({ fetched: [], left: [] });
}, 180_000);

test("a package that was changed after its list was signed is refused", () => {
  const { repository, deb, keys } = publish("changed", { key: google, gives: [google] });
  const size = readFileSync(deb).byteLength;
  appendFileSync(deb, "x");
  writeFileSync(deb, readFileSync(deb).subarray(1, size + 1));
  const { exitCode, fetched, left } = installChrome("changed", repository, keys);
  expect(exitCode).toBe(1);
  expect({ fetched, left }).toEqual({ fetched: [], left: [] });
}, 180_000);

test("the key that is pinned is Google's, and nothing is installed from a file that was only downloaded", () => {
  const setup = readFileSync(SETUP, "utf8");
  expect(setup).toContain("CHROME_KEY=EB4C1BFD4F042F6DDDCCEC917721F63BD38B4796\n");
  expect(setup).not.toMatch(/apt install [^\n]*\.deb|dpkg -i|--allow-unauthenticated|trusted=yes/);
});
