import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FlagValues } from "#hub/program/cli/args.ts";
import { hashSources, SOURCE_ROOT } from "#shared/protocol/version.ts";
import { newReleaseKey, writeRelease, writeStandIn } from "#test/support/fakes/released.ts";
import { runOperator } from "#test/support/rigs/operator.ts";
import { signSums } from "../../scripts/release.ts";

/** `flotilla upgrade` of an executable that no service runs with (rules/releases#upgrade). */

const NAME = "9.1.0";
const VERSION = "aaaaaaaaaaaa";
let root: string;
let release: string;
let pem: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "flotilla-upgrade-"));
  release = join(root, "release");
  pem = newReleaseKey();
  const released_at = "2026-11-26T08:00:00.000Z";
  await writeRelease(release, { name: NAME, version: VERSION, released_at, private_pem: pem });
}, 120_000);
afterAll(() => rmSync(root, { recursive: true, force: true }));

let runs = 0;
/** The program in a directory of its own, upgraded, and what is beside it then. */
async function upgrade(from: string, flags: Record<string, string[]> = {}) {
  runs += 1;
  const dir = join(root, `bin-${runs}`);
  mkdirSync(dir);
  const self = join(dir, "flotilla");
  writeStandIn(self, "000000000000");
  const own = { from: [from], key: [join(release, "release.pub")] };
  const { code, said } = await runOperator("upgrade", [], Object.assign(own, flags), self);
  const version = Bun.spawnSync([self, "--version"]).stdout.toString().trim();
  return { code, said, version, there: readdirSync(dir).sort(), dir };
}

test("upgrade replaces the executable by that of a release, and keeps the one before", async () => {
  const planned = await upgrade(release, { "dry-run": [""] });
  expect(planned).toMatchObject({ code: 0, version: "flotilla 000000000000", there: ["flotilla"] });
  expect(planned.said.out).toContain(
    `# ${NAME} (version ${VERSION}, of 2026-11-26T08:00:00.000Z) -> `,
  );
  const done = await upgrade(release);
  expect(done).toMatchObject({ code: 0, said: { err: "" }, version: `flotilla ${VERSION}` });
  expect(done.there).toEqual(["flotilla", "flotilla.previous"]);
  const before = readFileSync(join(done.dir, "flotilla.previous"), "utf8");
  expect(before).toContain("flotilla 000000000000");
}, 60_000);

test("a release at an address is downloaded, and one of the version that runs changes nothing", async () => {
  const same = join(root, "same");
  const version = hashSources(SOURCE_ROOT);
  const released_at = "2026-11-26T08:00:00.000Z";
  await writeRelease(same, { name: "9.0.0", version, released_at, private_pem: pem });
  using served = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => new Response(Bun.file(join(root, new URL(url).pathname))),
  });
  const done = await upgrade(`${served.url}release`);
  expect(done).toMatchObject({ code: 0, version: `flotilla ${VERSION}` });
  const stays = await upgrade(`${served.url}same`);
  expect(stays).toMatchObject({ code: 0, version: "flotilla 000000000000", there: ["flotilla"] });
  expect(stays.said.out).toContain(`is 9.0.0 (version ${version}) already`);
}, 60_000);

test("nothing is replaced by what is not signed, differs from its checksum or is another version than it says", async () => {
  const archives = readdirSync(release).filter((name) => name.endsWith(".tar.gz"));
  const changed = (name: string, change: (dir: string) => void) => {
    const dir = join(root, name);
    cpSync(release, dir, { recursive: true });
    change(dir);
    return dir;
  };
  const about = "version bbbbbbbbbbbb\nreleased 2026-11-26T08:00:00.000Z\n";
  for (const [dir, said] of [
    [
      changed("key", (dir) => signSums(dir, ["RELEASE", ...archives], newReleaseKey())),
      "is not signed",
    ],
    [
      changed("archive", (dir) => {
        for (const name of archives) appendFileSync(join(dir, name), "\0");
      }),
      "but the signed list says",
    ],
    [
      changed("other", (dir) => {
        writeFileSync(join(dir, "RELEASE"), `${about}name ${NAME}\n`);
        signSums(dir, ["RELEASE", ...archives], pem);
      }),
      `says that it is version ${VERSION}, the release bbbbbbbbbbbb`,
    ],
    [
      changed("no-name", (dir) => {
        writeFileSync(join(dir, "RELEASE"), about);
        signSums(dir, ["RELEASE", ...archives], pem);
      }),
      "has no executables",
    ],
    [join(root, "nowhere"), "SHA256SUMS does not exist"],
  ] as const) {
    const refused = await upgrade(dir);
    expect(refused).toMatchObject({
      code: 1,
      version: "flotilla 000000000000",
      there: ["flotilla"],
    });
    expect(refused.said.err).toContain(said);
  }
}, 60_000);

test("an unsigned build needs the key, and the sources say how they are upgraded", async () => {
  const key = [join(release, "release.pub")];
  for (const [flags, self, said] of [
    [{ from: [release] }, process.execPath, "this build is unsigned"],
    [{ key: [join(release, "RELEASE")] }, process.execPath, "is not an ed25519 key"],
    [{ key: [join(root, "nowhere")] }, process.execPath, "cannot be read"],
    [{ key }, process.execPath, "--from: this build does not know"],
    [{}, null, "git pull"],
  ] as const)
    await expect(
      runOperator("upgrade", [], structuredClone(flags) as FlagValues, self),
    ).rejects.toThrow(said);
});
