import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hubCalls } from "#test/support/clients/hub-calls.ts";
import { noFailingDisk, startOnFailingDisk } from "#test/support/fakes/failing-disk.ts";
import { addressOf } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { PROGRAM } from "#test/support/rigs/program.ts";

/** The file system of a SQLite database refuses writes under a running hub (rules/operations#degraded-parts). */

const SLOW_MS = 240_000;
const STEP_MS = 120_000;
const NAME = "flotilla.db";

const root = mkdtempSync(join(tmpdir(), "flotilla-read-only-"));
const probed = join(root, "probed");
const disk = join(root, "disk");
for (const dir of [probed, disk]) mkdirSync(dir);
const refused = await noFailingDisk(probed);
if (refused !== null) console.log(refused);

let hub: ReturnType<typeof startOnFailingDisk>;
let url: string;

const { call, health } = hubCalls(() => url, STEP_MS);
const settings = async () => (await call("GET", "/settings")).body.settings?.preview_interval_s;

async function start(): Promise<void> {
  const argv = [...PROGRAM, "hub", "--host", "127.0.0.1", "--port", "0"];
  hub = startOnFailingDisk(disk, argv, {
    SVC_DATA_DIR: join(root, "hub"),
    SVC_DB_URL: `sqlite:${join(disk, NAME)}`,
  });
  url = await addressOf(hub.program);
}
async function stop(): Promise<number> {
  hub.program.kill("SIGTERM");
  return hub.program.exited;
}
/** What everybody is told of a database that takes nothing because of `why`, and what goes on. */
async function isToldAndRead(why: string, stored: number): Promise<void> {
  await health([{ part: "database", detail: why }]);
  for (const [method, path, body] of [
    ["PATCH", "/settings", { preview_interval_s: 9 }],
    ["POST", "/jobs", { url: "http://127.0.0.1:9/" }],
  ] as const)
    expect(await call(method, path, body)).toMatchObject({ status: 503, body: { detail: why } });
  // A read that meets a write which fails is 503 like that.
  await until("settings that are read", STEP_MS, async () => (await settings()) === stored);
  await until("a list of jobs", STEP_MS, async () => (await call("GET", "/jobs")).status === 200);
}

describe.skipIf(refused !== null)("the SQLite database of a running hub", () => {
  beforeAll(start, SLOW_MS);
  afterAll(async () => {
    await stop();
    rmSync(root, { recursive: true, force: true });
  }, STEP_MS);

  test(
    "whose files refuse to be written to is degraded and 503 with that sentence; when they take writes again, all goes on",
    async () => {
      await health([]);
      expect(await call("PATCH", "/settings", { preview_interval_s: 2 })).toMatchObject({
        status: 200,
      });
      const files = [NAME, `${NAME}-wal`];
      await hub.freeze(files);
      await isToldAndRead("the database may not be written to", 2).finally(() =>
        hub.unfreeze(files),
      );
      await health([]);
      await call("PATCH", "/settings", { preview_interval_s: 3 });
      expect(await settings()).toBe(3);
    },
    SLOW_MS,
  );

  test(
    "whose file system goes read-only is degraded and 503 with that sentence; the hub stops cleanly, and starts again on the mended disk",
    async () => {
      await call("PATCH", "/settings", { preview_interval_s: 4 });
      await hub.fail();
      await isToldAndRead("the database is read-only", 4);
      expect(await stop()).toBe(0);
      await start();
      await health([]);
      expect(await settings()).toBe(4);
      await call("PATCH", "/settings", { preview_interval_s: 5 });
      expect(await settings()).toBe(5);
    },
    SLOW_MS,
  );
});
