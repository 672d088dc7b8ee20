import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { aboutText, readAbout, sumOf } from "#shared/protocol/release-files.ts";
import { debianChangelog, demandSection, readSections } from "../../scripts/packaging/changelog.ts";
import { debVersion } from "../../scripts/packaging/deb.ts";
import { containerfile } from "../../scripts/packaging/image.ts";
import { installScript } from "../../scripts/packaging/install-script.ts";
import { lockedPackages } from "../../scripts/packaging/locked-packages.ts";
import { thirdPartyNotices } from "../../scripts/packaging/notices.ts";
import { nameOfTag, readOrder } from "../../scripts/packaging/order.ts";
import { demandValid, writeSbom } from "../../scripts/packaging/sbom.ts";
import { TARGETS } from "../../scripts/packaging/targets.ts";

/** What a release is called, what it says of itself, and what it is made of (rules/releases#files-of-a-release). */

const ROOT = join(import.meta.dir, "../..");
const CHANGELOG = `# Changelog

## [Unreleased]

### Added

- Not published.

## [0.2.0] - 2026-12-01

### Added

- **One** thing that takes more words than a line of Debian's changelog has room for, and goes on.

### Fixed

- Another.

## [0.1.0] - 2026-11-22

- The first.
`;

test("notes and Debian's changelog are the sections of the changelog", () => {
  expect(readSections(CHANGELOG).map(({ name, date }) => [name, date])).toEqual([
    ["Unreleased", null],
    ["0.2.0", "2026-12-01"],
    ["0.1.0", "2026-11-22"],
  ]);
  expect(demandSection(CHANGELOG, "0.1.0").text).toBe("- The first.");
  for (const name of ["Unreleased", "0.3.0"])
    expect(() => demandSection(CHANGELOG, name)).toThrow(`## [${name}] - YYYY-MM-DD`);
  const written = debianChangelog(CHANGELOG, {
    name: "0.2.0",
    version: "0.2.0",
    released_at: "2026-12-01T10:00:00.000Z",
    maintainer: "Somebody <somebody@example.org>",
  });
  expect(written).toBe(`flotilla (0.2.0) stable; urgency=medium

  * One thing that takes more words than a line of Debian's changelog has room
    for, and goes on.
  * Another.

 -- Somebody <somebody@example.org>  Tue, 01 Dec 2026 10:00:00 +0000

flotilla (0.1.0) stable; urgency=medium

  * The first.

 -- Somebody <somebody@example.org>  Sun, 22 Nov 2026 00:00:00 +0000
`);
});

test("a tag is v and the version of its package.json, and its section is in the changelog", () => {
  const version = (of: string) => JSON.stringify({ version: of });
  expect(nameOfTag("v0.2.0", version("0.2.0"), CHANGELOG)).toBe("0.2.0");
  expect(() => nameOfTag("v0.2.1", version("0.2.0"), CHANGELOG)).toThrow("it must be v0.2.0");
  expect(() => nameOfTag("v0.3.0", version("0.3.0"), CHANGELOG)).toThrow("[0.3.0]");
});

test("the command names what is wrong, and without a tag the checkout has its version and the hash of its sources", () => {
  for (const [argv, said] of [
    [[], "name the file of the release key"],
    [["key", "v1", "more"], 'unexpected "more"'],
    [["key", "--targets", "linux-x64,plan9"], "no such target: plan9"],
    [["key", "--url", "https://example.org/$(reboot)"], "is not an http or https address"],
    [["key", "--sign"], "--sign"],
  ] as const)
    expect(() => readOrder([...argv], {})).toThrow(said);
  const { order, tag } = readOrder(["key", "--url", "https://example.org/latest/"], {
    DEBEMAIL: "me@example.org",
    DEBFULLNAME: "Me",
  });
  expect(tag).toBeNull();
  expect(order.name).toMatch(/^\d+\.\d+\.\d+\+[0-9a-f]{12}$/);
  expect(order).toMatchObject({
    url: "https://example.org/latest",
    maintainer: "Me <me@example.org>",
  });
  expect(order.targets).toEqual(TARGETS);
  const tagged = readOrder(["key", "v0.2.0", "--targets", "linux-x64"], {});
  expect(tagged.tag).toBe("v0.2.0");
  expect(tagged.passed_on).toEqual(["--targets", "linux-x64"]);
});

test("names of versions are ordered by Debian as they are meant, and RELEASE is read only as it is written", () => {
  expect(debVersion("0.2.0-rc.1")).toBe("0.2.0~rc.1");
  expect(debVersion("0.2.0+aaaaaaaaaaaa")).toBe("0.2.0+aaaaaaaaaaaa");
  const about = { version: "aaaaaaaaaaaa", released_at: "2026-12-01T10:00:00.000Z", name: "0.2.0" };
  expect(readAbout(aboutText(about))).toEqual(about);
  expect(readAbout("version aaaaaaaaaaaa\nreleased 2026-12-01T10:00:00.000Z\n")?.name).toBeNull();
  for (const name of ["../0.2.0", "0.2.0/x", "v0.2.0", `0.${"2".repeat(70)}`])
    expect(
      readAbout(aboutText({ version: about.version, released_at: about.released_at, name }))?.name,
    ).toBeNull();
  expect(readAbout("version ../../etc\nreleased now\n")).toBeNull();
  const sum = "a".repeat(64);
  expect(sumOf(`${sum}  other\n${sum} *file\n`, "file")).toBe(sum);
  expect(sumOf(`${sum}  file.txt\n`, "file")).toBeNull();
});

test("what it is made of is every package of the lock file that the program needs, in CycloneDX that its schema accepts", async () => {
  const packages = await lockedPackages(ROOT);
  const names = packages.map(({ name }) => name);
  for (const name of ["hono", "better-sqlite3", "scheduler"]) expect(names).toContain(name);
  for (const name of ["knip", "typescript", "@biomejs/biome"]) expect(names).not.toContain(name);
  const document = await writeSbom({
    name: "0.2.0",
    version: "aaaaaaaaaaaa",
    released_at: "2026-12-01T10:00:00.000Z",
    bun: "1.2.3",
    packages,
  });
  const read = JSON.parse(document) as { dependencies: { ref: string; dependsOn?: string[] }[] };
  const own = read.dependencies.find(({ ref }) => ref === "flotilla")?.dependsOn ?? [];
  const asked = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).dependencies;
  expect(own).toEqual(["bun-runtime", ...Object.keys(asked)].sort());
  await expect(demandValid(document.replace('"library"', '"book"'))).rejects.toThrow(
    "is not valid",
  );
  const notices = thirdPartyNotices(packages, "1.2.3");
  for (const { name, version } of packages) expect(notices).toContain(`${name} ${version} (`);
}, 60_000);

test("install.sh and the Containerfile name the release that publishes them", async () => {
  const public_pem = "-----BEGIN PUBLIC KEY-----\nMCowBQ\n-----END PUBLIC KEY-----\n";
  const script = await installScript({ name: "0.2.0", url: "https://example.org/$&", public_pem });
  expect(script).toContain(
    '\nRELEASE_NAME="0.2.0"\nRELEASE_URL="https://example.org/$&"\nRELEASE_KEY="MCowBQ"\n',
  );
  const image = await containerfile("0.2.0");
  expect(image).toContain("COPY flotilla_0.2.0_$");
  expect(image).not.toContain("@NAME@");
});

test("Bun for other machines is the version that builds", () => {
  const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), "utf8"));
  const { packageManager } = read("package.json");
  const { dependencies } = read("scripts/packaging/runtimes/package.json");
  expect(Object.keys(dependencies).sort()).toEqual(TARGETS.map(({ runtime }) => runtime).sort());
  for (const version of Object.values(dependencies)) expect(`bun@${version}`).toBe(packageManager);
});
