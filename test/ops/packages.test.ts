import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LANE_PACKAGES } from "#shared/kit/lane-packages.ts";
import { newReleaseKey, writeRelease } from "#test/support/fakes/released.ts";
import { runProgram } from "#test/support/rigs/program.ts";

/** Archives and Debian's package, with a stand-in for the executable (rules/releases). */

let root: string;
let dir: string;
const DEB = "flotilla_9.1.0-rc.1_amd64.deb";
const written = {
  name: "9.1.0-rc.1",
  version: "aaaaaaaaaaaa",
  released_at: "2026-11-26T08:00:00.000Z",
};

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "flotilla-packages-test-"));
  dir = join(root, "release");
  const private_pem = newReleaseKey();
  for (const to of [dir, join(root, "again")])
    await writeRelease(to, {
      name: written.name,
      version: written.version,
      released_at: written.released_at,
      private_pem,
      deb: true,
    });
}, 120_000);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const out = async (argv: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runProgram(argv, { cwd: dir });
  if (code !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
  return stdout;
};

test("the same executable gives the same archive and package, byte for byte", () => {
  for (const name of [DEB, "flotilla-9.1.0-rc.1-linux-arm64.tar.gz", "SHA256SUMS"])
    expect(readFileSync(join(dir, name)).equals(readFileSync(join(root, "again", name)))).toBe(
      true,
    );
});

test("an archive holds one directory of root's files: executable, units, completions, manual page and licences", async () => {
  const listed = await out(["tar", "-tvzf", "flotilla-9.1.0-rc.1-linux-x64.tar.gz"]);
  const lines = listed
    .trim()
    .split("\n")
    .map((line) => line.split(/\s+/));
  expect(new Set(lines.map(([, owner]) => owner))).toEqual(new Set(["0/0"]));
  const files = lines.flatMap(([mode = "", , , , , path = ""]) =>
    mode.startsWith("d") ? [] : [`${mode} ${path.replace("flotilla-9.1.0-rc.1-linux-x64/", "")}`],
  );
  expect(files).toEqual([
    "-rw-r--r-- CHANGELOG.md",
    "-rw-r--r-- INSTALL",
    "-rw-r--r-- LICENSE",
    "-rw-r--r-- THIRD-PARTY-NOTICES",
    "-rw-r--r-- completions/_flotilla",
    "-rw-r--r-- completions/flotilla.bash",
    "-rw-r--r-- completions/flotilla.fish",
    "-rwxr-xr-x flotilla",
    "-rw-r--r-- man/flotilla.1",
    "-rw-r--r-- systemd/flotilla-control.service",
    "-rw-r--r-- systemd/flotilla-hub.service",
    "-rw-r--r-- systemd/flotilla-worker@.service",
  ]);
});

test("the package names its version as Debian orders it, what it needs, and what browsers and scripts need", async () => {
  const field = async (name: string) => (await out(["dpkg-deb", "--field", DEB, name])).trim();
  expect(await field("Version")).toBe("9.1.0~rc.1");
  const lower = await runProgram(["dpkg", "--compare-versions", "9.1.0~rc.1", "lt", "9.1.0"]);
  expect(lower.code).toBe(0);
  const named = `${await field("Depends")}, ${await field("Recommends")}, ${await field("Suggests")}`;
  // What quickstart installs for a hub with browsers is what the package asks for.
  const setup = readFileSync(join(import.meta.dir, "../../scripts/setup.sh"), "utf8");
  const wanted = [
    ...setup.matchAll(/^\s*(?:\[.*\|\| )?want_(?:command|package|font) ([a-z][a-z0-9-]+)/gm),
  ];
  const packages = wanted.map(([, name = ""]) => name).filter((name) => name !== "npm");
  expect(packages.length).toBeGreaterThan(5);
  for (const name of packages) expect(named).toContain(name);
  // Every option of a browser works on a worker that was installed with what the package recommends.
  for (const name of LANE_PACKAGES.authorities) expect(await field("Recommends")).toContain(name);
});

test("the package's units are those that install writes, with the package's executable and nothing that rolls back", async () => {
  await out(["dpkg-deb", "--extract", DEB, join(root, "tree")]);
  for (const name of [
    "flotilla-hub.service",
    "flotilla-control.service",
    "flotilla-worker@.service",
  ]) {
    const unit = readFileSync(join(root, "tree/usr/lib/systemd/system", name), "utf8");
    expect(unit).not.toContain("/usr/local");
    expect(unit).not.toContain("ExecStartPost");
    expect(unit).toMatch(/^ExecStart=\/usr\/bin\/flotilla (hub|control|worker)$/m);
    const own = readFileSync(join(import.meta.dir, "../../scripts/systemd", name), "utf8");
    const left = own
      .split("\n")
      .filter((line) => !unit.includes(`${line.replace("/usr/local/bin/", "/usr/bin/")}\n`));
    expect(left.map((line) => line.split("=")[0])).toEqual([
      "# The version that is ready is the one to go back to: `flotilla rollback`.",
      "ExecStartPost",
    ]);
  }
});
