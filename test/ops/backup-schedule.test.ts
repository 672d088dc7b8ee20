import { afterEach, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Degraded } from "#shared/protocol/schema/health.ts";
import { addressOf, binaryRig } from "#test/support/rigs/binary.ts";
import { until } from "#test/support/rigs/fleet-process.ts";

const rig = binaryRig();
const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});
const newDir = () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-ops-schedule-"));
  dirs.push(dir);
  return dir;
};
/** Of a pattern with seconds: a backup every three. */
const SOON = "*/3 * * * * *";
const named = (dir: string) =>
  readdirSync(dir)
    .filter((name) => name.endsWith(".tar.gz"))
    .sort();

test("a running hub backs itself up on its schedule, keeps the newest, and tells in its health what failed", async () => {
  const [data, out] = [join(newDir(), "data"), newDir()];
  const env = {
    SVC_DATA_DIR: data,
    SVC_HOST: "127.0.0.1",
    SVC_PORT: "0",
    SVC_BACKUP_DIR: out,
    SVC_BACKUP_SCHEDULE: SOON,
    SVC_BACKUP_KEEP: "2",
  };
  // Somebody else's file is nobody's to remove.
  writeFileSync(join(out, "flotilla-old.tar.gz"), "mine");
  const hub = rig.start(["hub"], { env });
  const url = await addressOf(hub);
  const health = async () =>
    (await fetch(`${url}/health`)).json() as Promise<{ degraded: Degraded[] }>;
  const first = await until("two backups", 120_000, () => {
    const files = named(out).filter((name) => name !== "flotilla-old.tar.gz");
    return files.length === 2 ? files : null;
  });
  await until("a third, in the place of the oldest", 120_000, () => {
    const files = named(out).filter((name) => name !== "flotilla-old.tar.gz");
    expect(files.length).toBeLessThanOrEqual(3);
    return files.length === 2 && !files.includes(first[0] ?? "") ? files : null;
  });
  expect(named(out)).toContain("flotilla-old.tar.gz");
  const newest = named(out).findLast((name) => name !== "flotilla-old.tar.gz") ?? "";
  // Where it lies it is removed six seconds later.
  const kept = join(newDir(), newest);
  copyFileSync(join(out, newest), kept);
  const verified = await rig.run(["backup", "verify", kept]);
  expect(verified).toMatchObject({ code: 0 });

  // The directory becomes a file: nothing can be written there.
  rmSync(out, { recursive: true });
  writeFileSync(out, "no directory");
  // A store that is slow at this moment may be named there too.
  const degraded = await until("the failure in /health", 120_000, async () =>
    (await health()).degraded.find(({ part }) => part === "backup"),
  );
  expect(degraded.detail).toContain("failed: ");
  rmSync(out);
  mkdirSync(out);
  chmodSync(out, 0o755);
  expect(await rig.end(hub, "SIGTERM")).toBe(0);
  expect(readdirSync(out).filter((name) => name.startsWith(".flotilla-backup-"))).toEqual([]);
}, 400_000);
