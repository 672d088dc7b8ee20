import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadHubConfig } from "#hub/platform/config.ts";
import { openDb } from "#hub/platform/db/db.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import {
  BACKUP_STATE_KEY,
  type BackupContext,
  type BackupState,
  backUpOnce,
  backupTrouble,
  demandTick,
} from "#hub/program/backups/backups.ts";
import { startHub } from "#hub/program/serve.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { silentLog } from "#shared/kit/log.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

const open: Db[] = [];
afterEach(async () => {
  for (const db of open.splice(0)) await db.close();
});

const HOUR = 3_600_000;

/** Hubs that share a database, each with a clock of the same time, and the backups they are making. */
async function fleet(hubs = 2) {
  const db = await openDb("sqlite::memory:", { log: silentLog });
  open.push(db);
  const clock = createFakeClock();
  const making: { hub: string; end: (failure?: string) => void; signal: AbortSignal }[] = [];
  const contextOf = (hub: string): BackupContext => ({
    db,
    clock,
    log: silentLog,
    hub,
    backup: { dir: "/backups", schedule: "0 * * * *", keep: 2, environment: {} },
    run: (signal) =>
      new Promise((done, reject) => {
        const end = (failure?: string) =>
          failure === undefined
            ? done({ file: `/backups/${making.length}`, warned: "" })
            : reject(new Error(failure));
        signal.addEventListener("abort", () => reject(new Error("stopped")));
        making.push({ hub, end, signal });
      }),
  });
  const ctxs = Array.from({ length: hubs }, (_, i) => contextOf(`hub${i + 1}`));
  const state = async () => (await db.settings.get(BACKUP_STATE_KEY)) as BackupState;
  const never = new AbortController().signal;
  const pass = (ctx: BackupContext, signal = never) => backUpOnce(ctx, signal);
  const passes = () => ctxs.map((ctx) => pass(ctx));
  /** Until the given number of backups was begun: a pass first asks the database. */
  const begun = async (n: number) => {
    while (making.length < n) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  return { db, clock, making, ctxs, state, pass, passes, begun };
}

test("a backup that is due is made by one of the hubs, and the next one at its tick", async () => {
  const { clock, making, state, passes, begun, db } = await fleet(3);
  await Promise.all(passes());
  expect(making).toEqual([]);
  expect(await backupTrouble({ db, clock })).toBeNull();
  await clock.advance(HOUR);
  for (let round = 1; round <= 2; round += 1) {
    const running = passes();
    await begun(round);
    // Another look, while one hub makes it.
    await Promise.race([Promise.all(passes()), Promise.all(running)]);
    expect(making).toHaveLength(round);
    making[round - 1]?.end();
    await Promise.all(running);
    const { last, running: who, next_at, last_ok_at } = await state();
    expect({ last, who }).toMatchObject({ last: { ok: true }, who: null });
    expect(last_ok_at).toBe(clock.now());
    expect(next_at).toBeGreaterThan(clock.now());
    await clock.advance(HOUR);
  }
});

test("a failed backup is reported with its reason and the last good one, and tried again before the next tick", async () => {
  const { clock, making, ctxs, state, pass, begun, db } = await fleet(1);
  const [ctx] = ctxs;
  if (!ctx) throw new Error("no hub");
  await pass(ctx);
  await clock.advance(HOUR);
  const first = pass(ctx);
  await begun(1);
  making[0]?.end("the disk is full: 3 GB are needed, 1 GB are free");
  await first;
  const trouble = await backupTrouble({ db, clock });
  expect(trouble?.part).toBe("backup");
  expect(trouble?.detail).toContain("the disk is full: 3 GB are needed");
  expect(trouble?.detail).toContain("no backup has succeeded yet");
  expect((await state()).next_at - clock.now()).toBeLessThanOrEqual(15 * 60_000);
  await clock.advance(15 * 60_000);
  const second = pass(ctx);
  await begun(2);
  making[1]?.end();
  await second;
  expect(await backupTrouble({ db, clock })).toBeNull();
});

test("a hub that died in the middle of a backup leaves it to another one after its lease, and a tick that nobody was there for is made up", async () => {
  const { clock, making, ctxs, state, pass, begun, db } = await fleet(2);
  const [one, two] = ctxs;
  if (!one || !two) throw new Error("no hubs");
  await pass(one);
  await clock.advance(HOUR);
  // Dead: its clock stands still, and nothing it does is heard of any more.
  const dead = createFakeClock(clock.now());
  void pass({ ...one, clock: dead });
  await begun(1);
  await pass(two);
  expect(making).toHaveLength(1);
  await clock.advance(61_000);
  const taken = pass(two);
  await begun(2);
  expect(making[1]?.hub).toBe("hub2");
  making[1]?.end();
  await taken;
  expect((await state()).last).toMatchObject({ ok: true });
  // What the first hub says now counts for nothing.
  const before = await state();
  making[0]?.end("late");
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await state()).toEqual(before);

  await clock.advance(50 * HOUR);
  expect((await backupTrouble({ db, clock }))?.detail).toContain("a backup has been due since");
  const made_up = pass(two);
  await begun(3);
  making[2]?.end();
  await made_up;
  expect(await backupTrouble({ db, clock })).toBeNull();
});

test("a hub that stops ends its backup and leaves it to the next one, which is no failure", async () => {
  const { clock, making, ctxs, pass, begun, db } = await fleet(1);
  const [ctx] = ctxs;
  if (!ctx) throw new Error("no hub");
  await pass(ctx);
  await clock.advance(HOUR);
  const stop = new AbortController();
  const stopped = pass(ctx, stop.signal);
  await begun(1);
  stop.abort();
  await stopped;
  expect(making[0]?.signal.aborted).toBe(true);
  expect(await backupTrouble({ db, clock })).toBeNull();
  const again = pass(ctx);
  await begun(2);
  making[1]?.end();
  await again;
});

test("a schedule that is none, or without a directory, is refused by name", () => {
  const load = (env: Record<string, string>) => loadHubConfig(env).backup;
  expect(load({})).toBeNull();
  const given = { SVC_BACKUP_DIR: "/b", PATH: "/bin", SVC_API_TOKEN: "not for the backup" };
  expect(load(given)).toEqual({
    dir: "/b",
    schedule: "0 3 * * *",
    keep: 7,
    environment: { PATH: "/bin" },
  });
  expect(load({ ...given, SVC_OBJECTS_URL: "s3://bucket", S3_ACCESS_KEY_ID: "a" })).toMatchObject({
    dir: "/b",
    environment: { PATH: "/bin" },
  });
  for (const [env, said] of [
    [{ SVC_BACKUP_SCHEDULE: "0 3 * * *" }, "SVC_BACKUP_DIR: is required"],
    [{ SVC_BACKUP_DIR: "/b", SVC_BACKUP_SCHEDULE: "daily at 3" }, "SVC_BACKUP_SCHEDULE: must be"],
    [{ SVC_BACKUP_DIR: "/b", SVC_DB_URL: "postgres://a@b/c" }, "with Postgres schedule pg_dump"],
    [{ SVC_BACKUP_DIR: "/b", SVC_BACKUP_KEEP: "0" }, "SVC_BACKUP_KEEP"],
  ] as const) {
    expect(() => load(env)).toThrow(ConfigError);
    expect(() => load(env)).toThrow(said);
  }
  for (const never of ["0 0 30 2 *", "99 3 * * *"])
    expect(() => demandTick(never, 0)).toThrow("SVC_BACKUP_SCHEDULE: must be");
  demandTick("0 3 * * *", 0);
});

test("a hub whose backups would never be due does not start, and opens nothing before it says so", async () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-never-due-"));
  const data = join(dir, "data");
  const config = loadHubConfig({
    SVC_DATA_DIR: data,
    SVC_BACKUP_DIR: join(dir, "backups"),
    SVC_BACKUP_SCHEDULE: "0 0 30 2 *",
  });
  const deps = { config, clock: createFakeClock(), log: silentLog, version: "dev" };
  await expect(startHub(deps)).rejects.toThrow("SVC_BACKUP_SCHEDULE: must be");
  expect(existsSync(data)).toBe(false);
  rmSync(dir, { recursive: true });
});
