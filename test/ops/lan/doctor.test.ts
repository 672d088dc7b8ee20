import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "#hub/commands/doctor/check.ts";
import { binaryRig } from "#test/support/binary.ts";
import { runProgram } from "#test/support/program.ts";

/** The doctor of installed units, in a machine of its own with systemd. Needs root. */

const LAN = join(import.meta.dir, "../../../scripts/lan");
/** A directory of this machine that is /srv/flotilla on the others. */
const SHARED = "/run/flotilla-lan/srv";
const lan = (...words: string[]) => runProgram([LAN, ...words]);
const on = (...words: string[]) => lan("run", "hub1", ...words);
const sh = (script: string) => on("sh", "-c", script);
const rig = binaryRig();

beforeAll(async () => {
  expect(await lan("up", "hub1=10.0.0.11")).toMatchObject({ code: 0 });
  copyFileSync(rig.path, join(SHARED, "flotilla"));
}, 180_000);
afterAll(async () => {
  await lan("down");
}, 120_000);

async function doctor(...words: string[]) {
  const { code, stdout, stderr } = await on(
    "flotilla",
    "doctor",
    ...words,
    "--installed",
    "--json",
  );
  if (!stdout.startsWith("{")) throw new Error(`${code}: ${stdout}${stderr}`);
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  return { code, of: (name: string) => checks.find((check) => check.name === name) };
}

test("doctor --installed looks as the unit's service, beside the one that runs, and leaves no unit behind", async () => {
  const up = await on("/srv/flotilla/flotilla", "install", "hub", "--generate-secret", "--now");
  expect(up).toMatchObject({ code: 0 });
  const well = await doctor("hub");
  expect(well.of("service")).toMatchObject({ status: "ok" });
  expect(well.of("service")?.found).toContain("flotilla-hub.service as flotilla: active");
  expect(well.of("database")?.found).toContain("written and taken back");
  expect(well.of("health")?.found).toContain("nothing is degraded");
  expect(well.of("port")?.found).toContain("held by a hub that answers");
  expect(well.of("disk")?.found).toContain("/var/lib/flotilla");

  const shown = await on("flotilla", "doctor", "hub");
  expect(shown.stdout).toContain("sudo flotilla doctor hub --installed");

  // A drop-in counts, and what it forbids is found: the service itself runs on with what it had.
  await sh("mkdir -p /etc/systemd/system/flotilla-hub.service.d");
  await sh(
    "printf '[Service]\\nEnvironment=SVC_OBJECTS_URL=file:/opt/bodies\\n' > /etc/systemd/system/flotilla-hub.service.d/x.conf; mkdir /opt/bodies; systemctl daemon-reload",
  );
  const closed = await doctor("hub");
  expect(closed.code).toBe(1);
  expect(closed.of("objects")).toMatchObject({ status: "fail" });
  expect(closed.of("objects")?.advice).toContain("ReadWritePaths=");
  await sh("rm -r /etc/systemd/system/flotilla-hub.service.d; systemctl daemon-reload");

  await sh("chown root /var/lib/flotilla/flotilla.db; chmod 600 /var/lib/flotilla/flotilla.db");
  const robbed = await doctor("hub");
  expect(robbed.of("database")).toMatchObject({ status: "fail" });
  expect(robbed.of("database")?.advice).toContain("chown it");
  await sh("chown flotilla /var/lib/flotilla/flotilla.db; chmod 640 /var/lib/flotilla/flotilla.db");

  expect(
    (
      await sh("ls /run/systemd/system | grep -c doctor; ls -d /run/flotilla-doctor* 2>/dev/null")
    ).stdout.trim(),
  ).toBe("0");
  expect((await on("systemctl", "is-active", "flotilla-hub")).stdout.trim()).toBe("active");
}, 300_000);

test("doctor worker --installed starts the browser in the unit's sandbox, and knows the ports of its own lanes", async () => {
  const secret = (await sh("sed -n 's/^WORKER_SECRET=//p' /etc/flotilla/hub.env")).stdout.trim();
  const words = ["worker", "main", "--hub-url", "ws://10.0.0.11:8000", "--lanes", "1", "--now"];
  const up = await on("env", `WORKER_SECRET=${secret}`, "flotilla", "install", ...words);
  expect(up).toMatchObject({ code: 0 });
  const found = await doctor("worker", "main");
  expect(found.of("service")?.found).toContain("flotilla-worker@main.service as flotilla-worker");
  expect(found.of("browser start")).toMatchObject({ status: "ok" });
  expect(found.of("browser start")?.found).toContain("in its sandbox");
  expect(found.of("display")).toMatchObject({ status: "ok" });
  expect(found.of("worker link")).toMatchObject({ status: "ok" });
  expect(found.of("lane ports")).toMatchObject({ status: "ok" });
  expect(found.of("lane ports")?.found).toContain("used by the service's own lanes");
  expect((await on("systemctl", "is-active", "flotilla-worker@main")).stdout.trim()).toBe("active");
}, 300_000);
