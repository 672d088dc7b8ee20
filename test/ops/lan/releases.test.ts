import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newReleaseKey, writeOtherVersion, writeRelease } from "#test/support/fakes/released.ts";
import { runProgram } from "#test/support/rigs/program.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import {
  machinesDown,
  machinesUp,
  runIn,
  SHARED,
  SLOW_MS,
} from "#test/support/servers/lan-machines.ts";
import { TARGETS } from "../../../scripts/packaging/targets.ts";
import { makeRelease } from "../../../scripts/release.ts";

/** The guide's page about releases, pasted into machines that have no checkout (rules/releases#install-script). */

const ARCHIVE = "release1";
const PACKAGE = "release2";
const PORT = 9000;
/** Where the page says ADDRESS: each machine serves the release to itself. */
const ADDRESS = `http://127.0.0.1:${PORT}`;
const LATER = "eeeeeeeeeeee";
const LATEST = "ffffffffffff";
const maintainer = "Somebody <somebody@example.org>";
let version: string;

const pasted = (heading: string): string => {
  const [block = ""] = seededBlocks(heading, 1);
  return block.replaceAll("ADDRESS", ADDRESS);
};
const health = async (host: string) =>
  JSON.parse(await runIn(host, "curl -sf http://127.0.0.1:8000/health")) as { version: string };

/** A release of another version that works, signed with the same key. */
async function writeOther(dir: string, other: string, private_pem: string): Promise<void> {
  const executable = join(SHARED, `${other}.bin`);
  const archive = join(SHARED, "released/flotilla-9.1.0-linux-x64.tar.gz");
  const unpacked = await runProgram(["tar", "-xzf", archive, "-C", SHARED]);
  expect(unpacked).toMatchObject({ code: 0 });
  const program = join(SHARED, "flotilla-9.1.0-linux-x64/flotilla");
  writeOtherVersion(executable, program, version, other);
  const released_at = new Date().toISOString();
  await writeRelease(dir, { name: "9.2.0", version: other, released_at, private_pem, executable });
}

beforeAll(async () => {
  await machinesUp(`${ARCHIVE}=10.0.0.78`, `${PACKAGE}=10.0.0.79`);
  const private_pem = newReleaseKey();
  const key_file = join(SHARED, "release.key");
  writeFileSync(key_file, private_pem, { mode: 0o600 });
  ({ version } = await makeRelease({
    key_file,
    maintainer,
    name: "9.1.0",
    url: ADDRESS,
    to: join(SHARED, "released"),
    released_at: new Date(Date.now() - 60_000).toISOString(),
    targets: TARGETS.filter(({ arch }) => arch === "x64"),
  }));
  await writeOther(join(SHARED, "later"), LATER, private_pem);
  await writeOther(join(SHARED, "latest"), LATEST, private_pem);
  for (const host of [ARCHIVE, PACKAGE])
    await runIn(
      host,
      // Root has no sudo on every machine, and the guide's reader may be anybody.
      `command -v sudo || { printf '#!/bin/sh\\nexec "$@"\\n' >/usr/bin/sudo; chmod 755 /usr/bin/sudo; }
       systemd-run -q --unit=address /usr/bin/python3 -m http.server ${PORT} --bind 127.0.0.1 --directory /srv/flotilla/released
       until curl -sf ${ADDRESS}/RELEASE >/dev/null; do sleep 0.2; done`,
    );
}, 2 * SLOW_MS);
afterAll(() => machinesDown(), SLOW_MS);

test(
  "the package is installed from where the release is published, and a hub is made of it",
  async () => {
    // Images of containers forbid packages to start and stop services, and the machine is a copy of this one.
    await runIn(
      PACKAGE,
      `rm -f /usr/sbin/policy-rc.d\n${pasted("how-to/releases.md#debian-and-ubuntu")}`,
    );
    expect((await health(PACKAGE)).version).toBe(version);
    expect(await runIn(PACKAGE, "dpkg -S $(command -v flotilla)")).toContain("flotilla:");
  },
  SLOW_MS,
);

test(
  "one line installs the program, which makes a hub of the machine and upgrades it",
  async () => {
    await runIn(ARCHIVE, pasted("how-to/releases.md#one-line"));
    expect((await runIn(ARCHIVE, "flotilla --version")).trim()).toBe(`flotilla ${version}`);
    await runIn(ARCHIVE, "sudo flotilla install hub --generate-secret --now --timeout 400");
    expect((await health(ARCHIVE)).version).toBe(version);

    renameSync(join(SHARED, "released"), join(SHARED, "released.old"));
    renameSync(join(SHARED, "later"), join(SHARED, "released"));
    mkdirSync(join(SHARED, "stick"));
    renameSync(join(SHARED, "latest"), join(SHARED, "stick/release"));
    await runIn(ARCHIVE, "mkdir -p /media && ln -s /srv/flotilla/stick /media/stick");
    const said = await runIn(ARCHIVE, pasted("how-to/releases.md#upgrade-one-machine"));
    for (const other of [LATER, LATEST])
      expect(said).toContain(`flotilla-hub.service was restarted with version ${other}`);
    expect((await health(ARCHIVE)).version).toBe(LATEST);
  },
  SLOW_MS,
);
