import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Check } from "#hub/program/commands/doctor/check.ts";
import {
  FLOTILLA,
  machinesDown,
  machinesUp,
  SLOW_MS,
  tryIn,
} from "#test/support/servers/lan-machines.ts";

/** The doctor of installed units, in a machine of its own with systemd. Needs root. */

const HOST = "hub1";
const sh = (script: string) => tryIn(HOST, script);
const on = (...words: string[]) => sh(words.join(" "));

beforeAll(() => machinesUp(`${HOST}=10.0.0.11`), SLOW_MS);
afterAll(() => machinesDown(), SLOW_MS);

async function doctor(...words: string[]) {
  const { code, stdout, stderr } = await on("flotilla doctor", ...words, "--installed --json");
  if (!stdout.startsWith("{")) throw new Error(`${code}: ${stdout}${stderr}`);
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  return { code, of: (name: string) => checks.find((check) => check.name === name) };
}

test("doctor --installed looks as the unit's service, beside the one that runs, and leaves no unit behind", async () => {
  const up = await on(FLOTILLA, "install hub --generate-secret --now --timeout 400");
  expect(up).toMatchObject({ code: 0 });
  const well = await doctor("hub");
  expect(well.of("service")).toMatchObject({ status: "ok" });
  expect(well.of("service")?.found).toContain("flotilla-hub.service as flotilla: active");
  expect(well.of("database")?.found).toContain("a trial write works");
  expect(well.of("health")?.found).toContain("nothing is degraded");
  expect(well.of("port")?.found).toContain("used by a hub that answers");
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
}, 600_000);

test("doctor worker --installed starts the browser in the unit's sandbox, and knows the ports of its own lanes", async () => {
  const secret = (await sh("sed -n 's/^WORKER_SECRET=//p' /etc/flotilla/hub.env")).stdout.trim();
  const words = "worker main --hub-url ws://10.0.0.11:8000 --lanes 1 --now --timeout 400";
  const up = await on(`WORKER_SECRET=${secret}`, "flotilla install", words);
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
}, 600_000);
