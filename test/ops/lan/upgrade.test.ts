import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newReleaseKey, writeOtherVersion, writeRelease } from "#test/support/fakes/released.ts";
import {
  FLOTILLA,
  machinesDown,
  machinesUp,
  runIn,
  SHARED,
  SLOW_MS,
  tryIn,
} from "#test/support/servers/lan-machines.ts";

/** `flotilla upgrade` of a machine whose services systemd runs (rules/releases#upgrade). */

const HOST = "upgrade1";
const OTHER = "eeeeeeeeeeee";
const BROKEN = "cccccccccccc";
let version: string;

const inMachine = (script: string) => runIn(HOST, script);
const attempt = (script: string) => tryIn(HOST, script);
const upgrade = (release: string, words = "") =>
  attempt(
    `flotilla upgrade --from /srv/flotilla/${release} --key /srv/flotilla/${release}/release.pub --timeout 400 ${words}`,
  );
const health = async () =>
  JSON.parse(await inMachine("curl -sf http://127.0.0.1:8000/health")) as { version: string };

async function release(name: string, version: string, executable: string): Promise<void> {
  const released_at = new Date().toISOString();
  const private_pem = newReleaseKey();
  chmodSync(executable, 0o755);
  await writeRelease(join(SHARED, name), {
    name: "9.1.0",
    version,
    released_at,
    private_pem,
    executable,
  });
}

beforeAll(async () => {
  await machinesUp(`${HOST}=10.0.0.76`);
  version = (await inMachine(`${FLOTILLA} --version`)).trim().replace("flotilla ", "");
  const other = join(SHARED, "other.bin");
  writeOtherVersion(other, join(SHARED, "flotilla"), version, OTHER);
  await release("later", OTHER, other);
  const broken = join(SHARED, "broken.bin");
  writeFileSync(
    broken,
    `#!/bin/sh\n[ "$1" = --version ] && echo flotilla ${BROKEN} && exit\n[ "$1" = install ] && exit\nexit 70\n`,
  );
  await release("broken", BROKEN, broken);
  await inMachine(`${FLOTILLA} install hub --generate-secret --now --timeout 400`);
}, SLOW_MS);
afterAll(() => machinesDown(), SLOW_MS);

test(
  "upgrade replaces the executable, restarts the hub with it and waits until it is well",
  async () => {
    const planned = await upgrade("later", "--dry-run");
    expect(planned.stdout).toContain("# systemctl restart flotilla-hub.service");
    expect((await health()).version).toBe(version);
    const { code, said } = await upgrade("later");
    expect({ code, said }).toEqual({
      code: 0,
      said: expect.stringContaining(`flotilla-hub.service was restarted with version ${OTHER}`),
    });
    expect((await health()).version).toBe(OTHER);
  },
  SLOW_MS,
);

test(
  "after a release that does not start, rollback goes back to the version that was well",
  async () => {
    const { code, stderr } = await upgrade("broken");
    expect(code).toBe(1);
    expect(stderr).toContain(
      "sudo /usr/local/bin/flotilla.previous rollback goes back to the last healthy version",
    );
    const back = await attempt("/usr/local/bin/flotilla.previous rollback --timeout 400");
    expect({ code: back.code, said: back.said }).toEqual({
      code: 0,
      said: expect.stringContaining(`flotilla-hub.service was restarted with version ${OTHER}`),
    });
    expect((await health()).version).toBe(OTHER);
  },
  SLOW_MS,
);
