import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "#hub/program/commands/doctor/check.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import {
  createWorkload,
  machinesDown,
  machinesUp,
  runIn,
  SHARED,
  SLOW_MS,
  tryIn,
} from "#test/support/servers/lan-machines.ts";
import { ROOT } from "../../../scripts/build.ts";

/**
 * The guide's page about several machines, pasted block by block by whoever sets up each of them. The machines have the names
 * and addresses of its example, and there is one worker less. What a reader fills in is filled in here, and the page of the
 * first job is one that these machines reach.
 */

const HUBS = ["hub1", "hub2", "hub3"];
const ADDRESSES = ["10.0.0.11", "10.0.0.12", "10.0.0.13"];
const ROUTER = "http://flotilla.lan:8000";
const SITE = "http://site.lan";
const MACHINES = [
  ...["flotilla=10.0.0.10", "db=10.0.0.20", "worker1=10.0.0.31", "site=10.0.0.40"],
  ...HUBS.map((hub, i) => `${hub}=${ADDRESSES[i]}`),
];

const PG_PASSWORD = randomBytes(12).toString("hex");
const REDIS_PASSWORD = randomBytes(12).toString("hex");
const DATABASE = `postgres://flotilla:${PG_PASSWORD}@db.lan/flotilla`;

const [POSTGRES_AND_REDIS = ""] = seededBlocks("how-to/several-machines.md#postgres-and-redis", 1);
const [ON_HUBS = "", ON_FIRST = "", ON_OTHERS = "", ON_CHANGE = ""] = seededBlocks(
  "how-to/several-machines.md#hubs",
  4,
);
const [ON_ROUTER = ""] = seededBlocks("how-to/several-machines.md#the-router", 1);
const [ON_WORKER = ""] = seededBlocks("how-to/several-machines.md#workers", 1);
const [DUMP = ""] = seededBlocks("how-to/backup.md#with-postgres", 1);

/** One shell, in the directory to which a reader has copied what the page names, with the two passwords. */
const paste = (host: string, commands: string) =>
  runIn(
    host,
    `cd /srv/flotilla\nexport PG_PASSWORD=${PG_PASSWORD} REDIS_PASSWORD=${REDIS_PASSWORD}\n${commands}`,
  );

const textIn = async (host: string, script: string) => (await runIn(host, script)).trim();

async function withSecret(commands: string): Promise<string> {
  const secret = await textIn("hub1", "sed -n s/^WORKER_SECRET=//p /etc/flotilla/hub.env");
  expect(secret).not.toBe("");
  expect(commands).toContain("WORKER_SECRET=…");
  return commands.replace("WORKER_SECRET=…", `WORKER_SECRET=${secret}`);
}

/** Through the router, from a machine that is no hub. */
const client = (words: string) => runIn("worker1", `SVC_HUB=${ROUTER} flotilla ${words}`);

const jobsOfFleet = async (): Promise<Job[]> => JSON.parse(await client("jobs --json")).jobs;

/** A job whose bodies cannot be stored completes as well. */
function demandWhole(jobs: Job[]): void {
  for (const { url, status, capture } of jobs) {
    expect({ url, status }).toEqual({ url: SITE, status: "completed" });
    expect(capture?.seen).toBeGreaterThan(0);
    expect(capture).toMatchObject({ captured: capture?.seen, lost: 0, partial: 0 });
  }
}

/** There is no network, and every package is here already: without lists apt-get looks for nothing newer. */
const keepPackages = (host: string) =>
  runIn(host, "rm -rf /var/lib/apt/lists /var/cache/apt/*.bin");

beforeAll(async () => {
  await machinesUp(...MACHINES);
  copyFileSync(join(ROOT, "scripts/router/nginx.conf"), join(SHARED, "nginx.conf"));
  await Promise.all(MACHINES.map((machine) => keepPackages(machine.split("=")[0] ?? "")));
  // Debian's packages start what they bring, and here they are unpacked already.
  await runIn("db", "systemctl start postgresql redis-server");
  await runIn(
    "site",
    `mkdir /tmp/site
     echo '<title>A page of the LAN</title>' > /tmp/site/index.html
     systemd-run -q --unit=site python3 -m http.server 80 --directory /tmp/site
     until curl -sf ${SITE}/; do sleep 0.2; done`,
  );
}, SLOW_MS);
afterAll(() => machinesDown(), SLOW_MS);

test(
  "Postgres and Redis answer the other machines, with their passwords alone",
  async () => {
    await paste("db", POSTGRES_AND_REDIS);
    expect(await textIn("db", "systemctl is-enabled postgresql redis-server")).toBe(
      "enabled\nenabled",
    );
    expect(await textIn("hub1", `psql -tAc 'select current_user' ${DATABASE}`)).toBe("flotilla");
    const other = DATABASE.replace(PG_PASSWORD, "other");
    expect((await tryIn("hub1", `psql -tAc 'select 1' ${other}`)).code).not.toBe(0);
    const ping = "redis-cli --no-auth-warning -h db.lan";
    expect(await textIn("hub1", `${ping} -a ${REDIS_PASSWORD} ping`)).toBe("PONG");
    expect(await textIn("hub1", `${ping} ping`)).toContain("NOAUTH");
  },
  SLOW_MS,
);

test(
  "the first hub creates secret and key, and the others become one fleet with it",
  async () => {
    await paste("hub1", `${ON_HUBS}${ON_FIRST}`);
    await runIn("hub1", "cp /var/lib/flotilla/secret.key /srv/flotilla");
    for (const hub of HUBS.slice(1)) await paste(hub, `${ON_HUBS}${await withSecret(ON_OTHERS)}`);

    const { stdout } = await tryIn("hub3", "flotilla doctor hub --installed --json");
    const of = (name: string) =>
      (JSON.parse(stdout).checks as Check[]).find((check) => check.name === name);
    expect(of("hubs")).toMatchObject({ status: "ok" });
    for (const address of ADDRESSES) expect(of("hubs")?.found).toContain(address);
    expect(of("secrets")).toMatchObject({ status: "ok" });
    const keys = HUBS.map((hub) => textIn(hub, "sha256sum < /var/lib/flotilla/secret.key"));
    expect(new Set(await Promise.all(keys)).size).toBe(1);
  },
  SLOW_MS,
);

test(
  "a value that is given later is set in the file, and the hub runs with it",
  async () => {
    expect(await paste("hub1", ON_CHANGE)).toContain("hub.env: added SVC_LOG_LEVEL");
    const running =
      "tr '\\0' '\\n' < /proc/$(systemctl show -p MainPID --value flotilla-hub)/environ";
    expect(await runIn("hub1", running)).toContain("\nSVC_LOG_LEVEL=debug\n");
  },
  SLOW_MS,
);

test(
  "the router shares out the calls among all hubs",
  async () => {
    const said = await paste("flotilla", ON_ROUTER);
    expect(said).toContain('"status":"ok"');
    for (const hub of HUBS)
      await runIn(
        hub,
        `until ss -Htn state established 'sport = :8000 and dst 10.0.0.10' | grep -q .
         do curl -sf -o /dev/null ${ROUTER}/health; done`,
      );
    expect(await textIn("flotilla", "systemctl is-enabled nginx")).toBe("enabled");
    expect(await textIn("flotilla", "sysctl -n net.ipv4.tcp_retries2")).toBe("5");
  },
  SLOW_MS,
);

test(
  "a worker joins through the router, and its first job and a task come to their end there",
  async () => {
    const commands = await withSecret(ON_WORKER);
    expect(commands).toContain("fetch https://example.com ");
    const said = await paste("worker1", commands.replace("https://example.com", SITE));
    const jobs = await jobsOfFleet();
    demandWhole(jobs);
    expect(jobs).toHaveLength(1);
    const [{ job_id } = { job_id: "no job" }] = jobs;
    expect(said).toContain(job_id);
    // Its bodies went through the router and one hub into the directory that all of them share.
    for (const hub of HUBS)
      expect(
        await runIn("worker1", `curl -sf http://${hub}.lan:8000/jobs/${job_id}/page.html`),
      ).toContain("A page of the LAN");

    await createWorkload("worker1", "sums", ROUTER);
    await client("submit sums one two --wait");
  },
  SLOW_MS,
);

test(
  "the dump of the guide has what the fleet has stored",
  async () => {
    expect(DUMP).toContain("postgres://…");
    await paste("db", DUMP.replace("postgres://…", DATABASE));
    const jobs = await jobsOfFleet();
    const dumped = await runIn("db", "pg_restore --file=- /srv/flotilla/flotilla.dump");
    expect(dumped).toContain(jobs[0]?.job_id ?? "no job");
  },
  SLOW_MS,
);

test(
  "a hub that stops is missed by nobody: another job comes to its end",
  async () => {
    await runIn("hub1", "systemctl stop flotilla-hub");
    await client(`fetch ${SITE} --option idle_seconds=1`);
    const jobs = await jobsOfFleet();
    demandWhole(jobs);
    expect(jobs).toHaveLength(2);
  },
  SLOW_MS,
);
