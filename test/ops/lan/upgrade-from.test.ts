import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
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

/**
 * From another version's units to this one's and back, by the commands of the guide. FLOTILLA_UPGRADE_FROM is the executable
 * of that version; without it there is nothing to test.
 */

const OTHER = process.env.FLOTILLA_UPGRADE_FROM;
const HOST = "upgrade1";
const OLD = "/srv/flotilla/other";
const HUB = "http://127.0.0.1:8000";
/** No lane opens the addresses of its hub. */
const SITE = "http://127.0.0.1:8088/";
const inMachine = (script: string) => runIn(HOST, script);
const versionOf = async (program: string) =>
  (await inMachine(`${program} --version`)).trim().replace("flotilla ", "");
const hubVersion = async () => JSON.parse(await inMachine(`curl -sf ${HUB}/health`)).version;
const untilIn = (condition: string) => inMachine(`until ${condition}; do sleep 1; done`);

/** The lines of the guide that lead to the newer version, and those that lead back, for this machine. */
function blocks(): string[][] {
  const client = `SVC_HUB=${HUB} ${FLOTILLA} fleet`;
  return seededBlocks("how-to/upgrades.md#from-an-older-version", 2).map((block) =>
    block
      .replaceAll("./flotilla fleet", client)
      .replaceAll("./flotilla", FLOTILLA)
      .replaceAll("--now", "--now --timeout 400")
      .trim()
      .split("\n")
      .filter((line) => !line.startsWith("export ")),
  );
}

/** Its id; it is running, or waits. */
async function submitJob(): Promise<string> {
  const body = JSON.stringify({ url: SITE, options: { idle_seconds: 0.5 } });
  const said = await inMachine(
    `curl -s ${HUB}/jobs -H 'content-type: application/json' -d '${body}'`,
  );
  return JSON.parse(said).job_id;
}
const jobOf = async (id: string) => JSON.parse(await inMachine(`curl -sf ${HUB}/jobs/${id}`));
const ended = (id: string) => untilIn(`curl -s ${HUB}/jobs/${id} | grep -q '"finished_at":"'`);

async function move(lines: string[], version: string): Promise<void> {
  const [first = "", ...more] = lines;
  const running = await submitJob();
  await inMachine(first);
  const waiting = await submitJob();
  await inMachine(more.slice(0, -1).join("\n"));
  expect(await hubVersion()).toBe(version);
  await inMachine(more.at(-1) ?? "false");
  const done = more.some((line) => line.includes(" restore ")) ? [] : [running, waiting];
  for (const id of [...done, await submitJob()]) {
    await ended(id);
    expect(await jobOf(id)).toMatchObject({ status: "completed", error: null });
  }
  await untilIn(
    `curl -s ${HUB}/workers | grep -q '"version":"${version}","alive":true' && curl -s ${HUB}/workers | grep -q '"state":"warm"'`,
  );
}

const tests = (other: string) => {
  beforeAll(async () => {
    await machinesUp(`${HOST}=10.0.0.78`);
    copyFileSync(other, join(SHARED, "other"));
    await inMachine(
      "systemd-run -q --unit=site python3 -m http.server 8088 --bind 127.0.0.1 --directory /srv/flotilla",
    );
    await inMachine(`${OLD} install hub --generate-secret --now; ${untilHub}`);
    await inMachine(
      `WORKER_SECRET=$(sed -n s/^WORKER_SECRET=//p /etc/flotilla/hub.env) ${OLD} install worker main \\
         --hub-url ws://127.0.0.1:8000 --control-url ${HUB} --lanes 1 --slots 1 --now`,
    );
    await untilIn(`curl -s ${HUB}/workers | grep -q '"state":"warm"'`);
  }, SLOW_MS);
  afterAll(() => machinesDown(), SLOW_MS);

  test(
    "the guide's commands take hub and worker from the other version's units to this one's",
    async () => {
      expect(await hubVersion()).toBe(await versionOf(OLD));
      const [there = []] = blocks();
      await move(there, await versionOf(FLOTILLA));
      const type = await inMachine("systemctl show -p Type --value flotilla-hub");
      expect(type.trim()).toBe("notify");
    },
    SLOW_MS,
  );

  test(
    "no rollback goes to a version that would run without its token",
    async () => {
      const { stdout } = await tryIn(HOST, `${OLD} --help`);
      if (/^\s+config\s/m.test(stdout)) return expect(stdout).toContain("doctor");
      const drop_in = "/etc/systemd/system/flotilla-hub.service.d/token.conf";
      await inMachine(
        `mkdir -p $(dirname ${drop_in})
       printf '[Service]\\nLoadCredential=SVC_API_TOKEN:/etc/flotilla/api_token\\n' > ${drop_in}
       systemctl daemon-reload`,
      );
      const { code, stderr } = await tryIn(HOST, "flotilla rollback hub");
      expect(code).toBe(1);
      expect(stderr).toContain("flotilla-hub.service has SVC_API_TOKEN from a credential");
      expect(await versionOf("/usr/local/bin/flotilla")).toBe(await versionOf(FLOTILLA));
      await inMachine(`rm ${drop_in}; systemctl daemon-reload`);
    },
    SLOW_MS,
  );

  test(
    "and back, with the units of that version",
    async () => {
      const [, back = []] = blocks();
      await move(back, await versionOf(OLD));
      expect(await inMachine("cat /etc/systemd/system/flotilla-hub.service")).toBe(
        await inMachine(
          `${OLD} install hub --prefix /tmp/of-other >&2; cat /tmp/of-other/etc/systemd/system/flotilla-hub.service`,
        ),
      );
    },
    SLOW_MS,
  );
};
const untilHub = `until curl -sf ${HUB}/health; do sleep 1; done`;
if (OTHER !== undefined) tests(OTHER);
