import { expect, test } from "bun:test";
import { type AskDisk, createDiskRoom } from "#hub/platform/stores/disk-room.ts";
import { writtenDirs } from "#hub/program/written-dirs.ts";
import { AppError } from "#shared/kit/errors.ts";
import { createLog } from "#shared/kit/log.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";

/** When a disk is short, and when it is not any more (rules/storage#disk-reserve). */

const MB = 1_000 ** 2;
const GB = 1000 * MB;

interface Disk {
  size_bytes: number;
  free_bytes: number;
}

function rig(disks: Record<string, Disk>, reserve_bytes: number | null = null, ask?: AskDisk) {
  const lines: Record<string, unknown>[] = [];
  const clock = createFakeClock();
  const dirs = Object.keys(disks).map((dir) => ({ what: `the store at ${dir}`, dir }));
  const asked: string[] = [];
  const room = createDiskRoom({
    clock,
    log: createLog("info", (line) => lines.push(JSON.parse(line))),
    dirs,
    reserve_bytes,
    ask:
      ask ??
      (async (dir) => {
        asked.push(dir);
        const disk = disks[dir];
        if (disk === undefined) throw new Error("ENOENT");
        return { ...disk };
      }),
  });
  return { room, lines, clock, asked };
}
const disk = (free_bytes: number, size_bytes = 100 * GB): Disk => ({ free_bytes, size_bytes });

function refusal(room: { requireRoom(): void }): AppError | null {
  try {
    room.requireRoom();
    return null;
  } catch (err) {
    if (err instanceof AppError) return err;
    throw err;
  }
}

test("500 MB are the reserve of a large disk, and a twentieth that of a small one (rules/storage#disk-reserve)", async () => {
  for (const [size, reserve] of [
    [100 * GB, 500 * MB],
    [10 * GB, 500 * MB],
    [2 * GB, 100 * MB],
  ] as const) {
    const { room } = rig({ a: disk(reserve, size) });
    await room.look();
    expect(room.disk).toEqual({ status: "ok", free_bytes: reserve, reserve_bytes: reserve });
    const { room: less } = rig({ a: disk(reserve - 1, size) });
    expect(await less.look()).toBe(true);
    expect(less.disk?.status).toBe("degraded");
  }
});

test("a setting counts as it is, and 0 asks no disk (rules/storage#disk-reserve)", async () => {
  const { room } = rig({ a: disk(5 * GB) }, 6 * GB);
  await room.look();
  expect(room.disk).toMatchObject({ status: "degraded", reserve_bytes: 6 * GB });
  const off = rig({ a: disk(0) }, 0);
  expect(await off.room.look()).toBe(false);
  expect({ asked: off.asked, disk: off.room.disk }).toEqual({ asked: [], disk: null });
  expect(refusal(off.room)).toBeNull();
});

test("the refusal says which disk is short, by how much and what to do, and when to try again (rules/storage#disk-reserve)", async () => {
  const { room } = rig({ data: disk(50 * GB), db: disk(100 * MB) });
  expect(refusal(room)).toBeNull();
  await room.look();
  const refused = refusal(room);
  expect(refused).toMatchObject({ status: 503, headers: { "Retry-After": "10" } });
  expect(refused?.detail).toBe(
    "the disk of the store at db has 100 MB free, less than the reserve of 500 MB: free up space there, or lower SVC_DISK_RESERVE_BYTES; no new work is taken until then",
  );
});

test("of several disks the one that is short counts, even if another has less beside its reserve", async () => {
  const { room } = rig({ a: disk(90 * MB, 2 * GB), b: disk(500 * MB) });
  await room.look();
  expect(room.disk).toEqual({
    status: "degraded",
    free_bytes: 90 * MB,
    reserve_bytes: 100 * MB,
  });
});

test("work goes on once a tenth more than the reserve is free, and each change is told once (rules/storage#disk-reserve)", async () => {
  const one = disk(600 * MB);
  const { room, lines } = rig({ a: one });
  expect(await room.look()).toBe(false);
  one.free_bytes = 499 * MB;
  expect(await room.look()).toBe(true);
  expect(await room.look()).toBe(false);
  one.free_bytes = 549 * MB;
  expect(await room.look()).toBe(false);
  expect(room.shortage).not.toBeNull();
  one.free_bytes = 550 * MB + 1;
  expect(await room.look()).toBe(true);
  expect(room.shortage).toBeNull();
  expect(lines.map(({ message }) => message)).toEqual([
    "a disk is short: no new work is taken",
    "the disks have room again: new work is taken",
  ]);
});

test("a disk that hangs is asked once, is told once, and stops nothing", async () => {
  let asked = 0;
  const never = new Promise<never>(() => {});
  const ask: AskDisk = (dir) => {
    if (dir === "b") return Promise.resolve(disk(1 * MB));
    asked += 1;
    return never;
  };
  const { room, clock, lines } = rig({ a: disk(0), b: disk(0) }, null, ask);
  for (let i = 0; i < 3; i += 1) {
    const looked = room.look();
    await clock.advance(2_000);
    await looked;
  }
  expect(asked).toBe(1);
  expect(room.disk?.status).toBe("degraded");
  expect(
    lines.filter(({ message }) => message === "could not read a disk's free space").length,
  ).toBe(1);
});

test("a disk that cannot be asked any more keeps what it said last", async () => {
  const one = { a: disk(1 * MB) } as Record<string, Disk>;
  const { room } = rig(one);
  await room.look();
  delete one.a;
  expect(await room.look()).toBe(false);
  expect(room.shortage).not.toBeNull();
});

test("the disks of the database, of bodies in a directory and of the data directory are watched, and nothing that is elsewhere", () => {
  const of = (db_url: string, objects_url: string) =>
    writtenDirs({ db_url, objects_url, data_dir: "/data" }).map(({ dir }) => dir);
  expect(of("sqlite:/db/x.db", "file:/objects")).toEqual(["/db", "/objects", "/data"]);
  expect(of("sqlite:///db/x.db", "file:///objects")).toEqual(["/db", "/objects", "/data"]);
  expect(of("postgres://u@h/x", "s3://bucket")).toEqual(["/data"]);
  expect(of("sqlite::memory:", "s3://bucket")).toEqual(["/data"]);
});

test("the machine's own disk answers", async () => {
  const clock = createFakeClock();
  const log = createLog("info", () => {});
  const dirs = [{ what: "the data directory", dir: "/" }];
  const room = createDiskRoom({ clock, log, dirs, reserve_bytes: Number.MAX_SAFE_INTEGER });
  expect(await room.look()).toBe(true);
  expect(room.disk?.free_bytes).toBeGreaterThan(0);
});
