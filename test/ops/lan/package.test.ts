import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeOtherVersion } from "#test/support/fakes/released.ts";
import {
  FLOTILLA,
  machinesDown,
  machinesUp,
  runIn,
  SHARED,
  SLOW_MS,
  tryIn,
} from "#test/support/servers/lan-machines.ts";
import { packDeb } from "../../../scripts/packaging/deb.ts";

/** Debian's package on a machine whose services systemd runs (rules/releases#debians-package). */

const HOST = "package1";
const OTHER = "eeeeeeeeeeee";
let version: string;

const inMachine = (script: string) => runIn(HOST, script);
const health = async () =>
  JSON.parse(await inMachine("curl -sf http://127.0.0.1:8000/health")) as { version: string };

async function makeDeb(name: string, executable: string): Promise<void> {
  const released_at = new Date().toISOString();
  const arch = process.arch === "x64" ? "amd64" : "arm64";
  const tree = mkdtempSync(join(tmpdir(), "flotilla-deb-tree-"));
  const to = join(SHARED, name);
  mkdirSync(to);
  const packed = { name, released_at, executable, notices: "None.\n" };
  await packDeb(packed, { arch, maintainer: "Somebody <somebody@example.org>" }, to, tree);
  rmSync(tree, { recursive: true });
}

beforeAll(async () => {
  await machinesUp(`${HOST}=10.0.0.77`);
  version = (await inMachine(`${FLOTILLA} --version`)).trim().replace("flotilla ", "");
  const program = join(SHARED, "flotilla");
  const other = join(SHARED, "other.bin");
  writeOtherVersion(other, program, version, OTHER);
  await makeDeb("9.1.0", program);
  await makeDeb("9.2.0", other);
}, SLOW_MS);
afterAll(() => machinesDown(), SLOW_MS);

test(
  "the package starts nothing, and install makes a hub of it that systemd runs",
  async () => {
    // Images of containers forbid packages to start and stop services, and the machine is a copy of this one.
    await inMachine("rm -f /usr/sbin/policy-rc.d && dpkg -i /srv/flotilla/9.1.0/*.deb");
    expect((await tryIn(HOST, "systemctl is-enabled flotilla-hub")).stdout.trim()).toBe("disabled");
    await inMachine("flotilla install hub --generate-secret --now --timeout 400");
    expect((await health()).version).toBe(version);
    const pid = (await inMachine("systemctl show -p MainPID --value flotilla-hub")).trim();
    expect((await inMachine(`readlink /proc/${pid}/exe`)).trim()).toBe("/usr/bin/flotilla");
    expect(await inMachine("systemd-analyze verify flotilla-hub.service 2>&1 || :")).toBe("");
    const doctor = await tryIn(HOST, "flotilla doctor hub --installed --json");
    expect(doctor.said).toContain('"service"');
  },
  SLOW_MS,
);

test(
  "a later package restarts what runs with its executable, and leaves what is stopped alone",
  async () => {
    await inMachine("flotilla install control");
    await inMachine("dpkg -i /srv/flotilla/9.2.0/*.deb");
    await inMachine(
      "until curl -sf http://127.0.0.1:8000/health | grep -q eeeeeeeeeeee; do sleep 0.2; done",
    );
    expect((await tryIn(HOST, "systemctl is-active flotilla-control")).stdout.trim()).toBe(
      "inactive",
    );
  },
  SLOW_MS,
);

test(
  "removal stops the hub, and purge takes its data and what was enabled with it",
  async () => {
    await inMachine("dpkg --remove flotilla");
    expect((await tryIn(HOST, "systemctl is-active flotilla-hub")).stdout.trim()).toBe("inactive");
    await inMachine("test -f /var/lib/flotilla/flotilla.db && test -f /etc/flotilla/hub.env");
    await inMachine("dpkg --purge flotilla");
    const left =
      "ls -d /var/lib/flotilla* /etc/flotilla /etc/systemd/system/*/flotilla-* 2>/dev/null || :";
    expect((await inMachine(left)).trim()).toBe("");
  },
  SLOW_MS,
);
