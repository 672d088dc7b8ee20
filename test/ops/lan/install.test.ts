import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeOtherVersion } from "#test/support/fakes/released.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import {
  FLOTILLA,
  machinesDown,
  machinesUp,
  runIn,
  SHARED,
  SLOW_MS,
  tryIn,
} from "#test/support/servers/lan-machines.ts";
import { ROOT } from "../../../scripts/build.ts";

/** `flotilla install --now`, `rollback` and `uninstall` below a real systemd. */

const HOST = "install1";
const inMachine = (script: string) => runIn(HOST, script);
const attempt = (script: string) => tryIn(HOST, script);
/** A busy machine starts a service in minutes, which is not what is tested here. */
const install = (words: string) => attempt(`${FLOTILLA} install ${words} --timeout 400`);

const OTHER = "eeeeeeeeeeee";
let version: string;

function writeOtherVersions(): void {
  mkdirSync(join(SHARED, "other"));
  writeOtherVersion(join(SHARED, "other/flotilla"), join(SHARED, "flotilla"), version, OTHER);
  const crashes = `#!/bin/sh
[ "$1" = --version ] && echo flotilla cccccccccccc && exit
echo "flotilla: a bug reached the top" >&2
exit 70
`;
  writeFileSync(join(SHARED, "crashes"), crashes, { mode: 0o755 });
}

beforeAll(async () => {
  await machinesUp(`${HOST}=10.0.0.75`);
  version = (await inMachine(`${FLOTILLA} --version`)).trim().replace("flotilla ", "");
  writeOtherVersions();
}, SLOW_MS);
afterAll(() => machinesDown(), SLOW_MS);

const show = async (unit: string, property: string) =>
  (await inMachine(`systemctl show -p ${property} --value ${unit}`)).trim();
const health = async () =>
  JSON.parse(await inMachine("curl -sf http://127.0.0.1:8000/health")) as { version: string };
const sameFiles = async (a: string, b: string) => (await attempt(`cmp -s ${a} ${b}`)).code === 0;
const BIN = "/usr/local/bin/flotilla";

test("install hub --now ends when the hub is well, and systemctl start when it listens", async () => {
  const { code, stdout } = await install("hub --generate-secret --now");
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining(`flotilla-hub.service is started, version ${version}`),
  });
  expect((await health()).version).toBe(version);
  expect(await show("flotilla-hub", "StatusText")).toBe(
    `serving on http://0.0.0.0:8000, version ${version}`,
  );
  await inMachine("systemctl restart flotilla-hub && curl -sf http://127.0.0.1:8000/health");
  expect(await sameFiles(BIN, `${BIN}.healthy`)).toBe(true);
}, 600_000);

test("a value the service refuses leaves the service and its file as they are", async () => {
  const before = await inMachine("cat /etc/flotilla/hub.env");
  const pid = await show("flotilla-hub", "MainPID");
  const { code, stderr } = await install("hub --port http --now");
  expect(code).toBe(2);
  expect(stderr).toContain('SVC_PORT: "http" is not a number');
  expect(await inMachine("cat /etc/flotilla/hub.env")).toBe(before);
  expect(await show("flotilla-hub", "MainPID")).toBe(pid);
}, 600_000);

test("a port that is taken is said with the last log lines and exit 1, and mended by the next call", async () => {
  await inMachine(
    `systemd-run -q --unit=taken -E SVC_DATA_DIR=/tmp/taken ${FLOTILLA} control --host 0.0.0.0 --port 8999
     until curl -sf http://127.0.0.1:8999/api/v1/health; do sleep 0.2; done`,
  );
  const bad = await install("hub --port 8999 --now");
  expect(bad.code).toBe(1);
  expect(bad.stdout).toContain("hub.env: added SVC_PORT");
  expect(bad.stderr).toContain("was restarted");
  expect(bad.stderr).toContain("SVC_PORT: cannot listen on 0.0.0.0:8999");
  const good = await install("hub --port 8000 --now");
  expect({ code: good.code, said: good.stdout }).toEqual({
    code: 0,
    said: expect.stringContaining("changed SVC_PORT"),
  });
  expect((await health()).version).toBe(version);
}, 600_000);

test("a worker whose control plane nobody answers for is no success, and one with the right address is", async () => {
  const secret = `$(sed -n s/^WORKER_SECRET=//p /etc/flotilla/hub.env)`;
  const worker = (url: string, seconds: number) =>
    attempt(
      `WORKER_SECRET=${secret} ${FLOTILLA} install worker main --control-url ${url} --slots 1 --now --timeout ${seconds}`,
    );
  const bad = await worker("http://10.0.0.99:8000", 60);
  expect(bad.code).toBe(1);
  expect(bad.stderr).toContain("flotilla-worker@main.service is activating");
  expect(bad.stderr).toContain("joining the control plane failed");
  const good = await worker("http://127.0.0.1:8000", 400);
  expect({ code: good.code, said: good.said }).toEqual({
    code: 0,
    said: expect.stringContaining("changed SVC_CONTROL_URL"),
  });
  expect(await show("flotilla-worker@main", "StatusText")).toStartWith("pulls tasks from");
}, 600_000);

test("a version that crashes is no success; rollback puts the last healthy one back", async () => {
  const bad = await install("hub --binary /srv/flotilla/crashes --now");
  expect(bad.code).toBe(1);
  expect(bad.stderr).toContain("a bug reached the top");
  expect(bad.stderr).toContain("flotilla rollback hub");
  expect(await sameFiles(`${BIN}.previous`, FLOTILLA)).toBe(true);
  // Another broken one does not take its place.
  await inMachine(
    "sed s/cccccccccccc/dddddddddddd/ /srv/flotilla/crashes >/tmp/worse; chmod 755 /tmp/worse",
  );
  expect((await install("hub --binary /tmp/worse --now")).code).toBe(1);
  expect(await sameFiles(`${BIN}.previous`, FLOTILLA)).toBe(true);
  const back = await attempt(`${FLOTILLA} rollback hub --timeout 400`);
  expect({ code: back.code, said: back.said }).toEqual({
    code: 0,
    said: expect.stringContaining(`flotilla-hub.service was restarted with version ${version}`),
  });
  expect((await health()).version).toBe(version);
}, 600_000);

test("the guide's commands go to the next version and back, and rollback once more", async () => {
  const [upgrade = ""] = seededBlocks("how-to/upgrades.md#upgrade", 1);
  const [rollback = ""] = seededBlocks("how-to/upgrades.md#rollback", 1);
  const db = "SVC_DB_URL=file:/var/lib/flotilla/flotilla.db ";
  const up = await inMachine(`cd /srv/flotilla/other\n${upgrade.replace("SVC_DB_URL=… ", db)}`);
  expect(up).toContain("SQLite is up to date");
  expect(up).toContain(`flotilla-hub.service is restarted, version ${OTHER}`);
  expect((await health()).version).toBe(OTHER);
  expect(await inMachine("find /var/lib/flotilla ! -user flotilla")).toBe("");
  for (const [commands, expected] of [
    [rollback, version],
    [`${FLOTILLA} rollback --timeout 400`, OTHER],
  ]) {
    const back = await attempt(commands ?? "");
    expect({ code: back.code, said: back.said }).toEqual({
      code: 0,
      said: expect.stringContaining(`flotilla-hub.service was restarted with version ${expected}`),
    });
    expect((await health()).version).toBe(expected ?? "");
  }
}, 600_000);

test("a hub that stands still is started again by systemd's watchdog", async () => {
  await inMachine(
    `mkdir -p /etc/systemd/system/flotilla-hub.service.d
     printf '[Service]\\nWatchdogSec=6\\n' >/etc/systemd/system/flotilla-hub.service.d/fast.conf
     systemctl daemon-reload && systemctl restart flotilla-hub`,
  );
  const pid = await show("flotilla-hub", "MainPID");
  await inMachine(
    `kill -STOP ${pid}
     until [ "$(systemctl show -p NRestarts --value flotilla-hub)" = 1 ]; do sleep 0.5; done
     until curl -sf http://127.0.0.1:8000/health >/dev/null; do sleep 0.5; done
     journalctl -q -u flotilla-hub | grep -q 'Watchdog timeout'`,
  );
  expect(await show("flotilla-hub", "MainPID")).not.toBe(pid);
}, 600_000);

test("the exposure that systemd-analyze sees is that of the guide", async () => {
  await inMachine(`${FLOTILLA} install control`);
  const of = async (unit: string) =>
    /([\d.]+) \w+/.exec(
      (await attempt(`systemd-analyze security --no-pager ${unit} | tail -1`)).stdout,
    )?.[1];
  const page = await Bun.file(join(ROOT, "hub/guide/how-to/several-machines.md")).text();
  const told =
    /systemd-analyze security`: (?<control>[\d.]+) for the control\s+plane, (?<hub>[\d.]+) for hubs[^)]*, (?<worker>[\d.]+) for workers/.exec(
      page,
    )?.groups;
  const seen = {
    hub: await of("flotilla-hub.service"),
    worker: await of("flotilla-worker@main.service"),
    control: await of("flotilla-control.service"),
  };
  expect(seen).toEqual({ hub: "2.9", worker: "2.5", control: "1.4" });
  expect({ ...told } as Partial<typeof seen>).toEqual(seen);
}, 600_000);

test("uninstall --purge asks where somebody is, and takes data and users with --yes", async () => {
  const unasked = await attempt(`${FLOTILLA} uninstall hub --purge`);
  expect(unasked.code).toBe(1);
  expect(unasked.stderr).toContain("use --yes to delete without asking");
  expect(await show("flotilla-hub", "ActiveState")).toBe("active");
  const hub = await attempt(`${FLOTILLA} uninstall hub --purge --yes`);
  expect({ code: hub.code, said: hub.said }).toEqual({
    code: 0,
    said: expect.stringContaining("kept: "),
  });
  expect(hub.stdout).toContain("the user flotilla (other services use it)");
  expect((await attempt("ls -d /var/lib/flotilla /etc/flotilla/hub.env")).stdout).toBe("");
  for (const words of ["control", "worker main"])
    expect((await attempt(`${FLOTILLA} uninstall ${words} --purge --yes`)).code).toBe(0);
  const left = await attempt(
    "ls -d /var/lib/flotilla* /etc/flotilla /usr/local/bin/flotilla* /etc/systemd/system/flotilla*; getent passwd flotilla flotilla-worker",
  );
  expect(left.stdout).toBe("");
}, 600_000);
