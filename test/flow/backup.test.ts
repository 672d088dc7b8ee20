import { expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import {
  BLOB,
  backup,
  fill,
  flotilla,
  newDir,
  restore,
  startControl,
} from "#test/support/rigs/backup-rig.ts";
import { PROGRAM, runProgram, startProgram } from "#test/support/rigs/program.ts";
import { startPostgres } from "#test/support/servers/postgres.ts";

test("a backup of a running hub is one moment of it, and restored it serves the same (rules/operations#backups)", async () => {
  const [data, other, out] = [join(newDir(), "data"), join(newDir(), "data"), newDir()];
  const control = await fill(data);
  // Each transaction adds ten tasks: a moment between two of them holds a multiple of ten.
  let on = true;
  let batches = 0;
  const writing = (async () => {
    for (; on; batches += 1) {
      const items = Array.from({ length: 10 }, (_, i) => ({ pk: `${batches}-${i}` }));
      await control.call("POST", "/workloads/w/tasks/batch", { items });
    }
  })();
  const taken = await backup(data, out);
  on = false;
  await writing;
  expect({ code: taken.code, stderr: taken.stderr }).toEqual({ code: 0, stderr: "" });
  const [name = ""] = readdirSync(out);
  expect(readdirSync(out)).toHaveLength(1);
  expect(name).toMatch(/^flotilla-\d{8}T\d{6}Z\.tar\.gz$/);
  await control.stop();
  const restored = await restore(join(out, name), other);
  expect({ code: restored.code, stderr: restored.stderr }).toEqual({ code: 0, stderr: "" });
  const again = await startControl(other);
  const { total } = JSON.parse(await again.call("GET", "/workloads/w/queue"));
  expect(total % 10).toBe(0);
  expect(total).toBeLessThanOrEqual(batches * 10);
  expect(await again.call("GET", BLOB)).toBe("the blob");
  expect(readFileSync(join(other, "plugins/one/plugin.json"), "utf8")).toContain('"one"');
  await again.stop();
}, 180_000);

test("restore refuses data that is there, a hub that runs, and a backup that is not whole; nothing changes (rules/operations#restore)", async () => {
  const [data, out] = [join(newDir(), "data"), newDir()];
  const control = await fill(data);
  const file = join(out, "b.tar.gz");
  expect((await backup(data, file)).code).toBe(0);
  const busy = await restore(file, data, "--force");
  expect(busy.code).toBe(1);
  expect(busy.stderr).toContain("a hub uses");
  await control.call("POST", "/workloads", {
    slug: "later",
    executor_type: "command",
    executor_config: { argv: ["true"] },
  });
  await control.stop();
  const there = await restore(file, data);
  expect(there.code).toBe(1);
  expect(there.stderr).toContain("--force");

  const short = join(out, "short.tar.gz");
  await $`cp ${file} ${short}`;
  truncateSync(short, 2_000);
  const unpacked = newDir();
  await $`tar xzf ${file} -C ${unpacked}`;
  const change = async (as: string, edit: () => void) => {
    edit();
    await $`tar czf ${join(out, as)} -C ${unpacked} database.sqlite objects plugins manifest.json`;
    return join(out, as);
  };
  const manifest = readFileSync(join(unpacked, "manifest.json"), "utf8");
  const newer = await change("newer.tar.gz", () =>
    writeFileSync(join(unpacked, "manifest.json"), manifest.replace('"format":1', '"format":4')),
  );
  const forged = await change("forged.tar.gz", () => {
    writeFileSync(join(unpacked, "manifest.json"), manifest);
    writeFileSync(join(unpacked, "plugins/one/plugin.json"), "{}");
  });
  const rows = [
    [short, "cut off"],
    [newer, "written by a newer version"],
    [forged, "plugins/one/plugin.json does not match the manifest"],
  ] as const;
  const before = readdirSync(data).sort();
  for (const [bad, why] of rows) {
    const refused = await restore(bad, data, "--force");
    expect({ code: refused.code, bad }).toEqual({ code: 1, bad });
    expect(refused.stderr).toContain(why);
  }
  expect(readdirSync(data).sort()).toEqual(before);

  const forced = await restore(file, data, "--force");
  expect(forced.stdout).toContain(".before-restore");
  const again = await startControl(data);
  expect(await again.call("GET", "/workloads")).not.toContain("later");
  await again.stop();
}, 180_000);

test("kill -9 during backup leaves no file, and during restore the old data or the new (rules/operations#restore)", async () => {
  const [data, out] = [join(newDir(), "data"), newDir()];
  const control = await fill(data);
  await control.stop();
  mkdirSync(join(data, "objects/profiles/p-x"), { recursive: true });
  for (let i = 0; i < 40; i += 1)
    writeFileSync(
      join(data, `objects/profiles/p-x/${i}`),
      crypto.getRandomValues(new Uint8Array(60_000)),
    );
  const file = join(out, "b.tar.gz");
  // A gigabyte of nothing: the backup is not done before it is killed.
  const hole = join(data, "objects/profiles/p-x/hole");
  writeFileSync(hole, "");
  truncateSync(hole, 2 ** 30);
  const cut = startProgram([...PROGRAM, "backup", file, "--data-dir", data]);
  await until(() => readdirSync(out).length > 0);
  cut.kill("SIGKILL");
  await cut.exited;
  rmSync(hole);
  expect(existsSync(file)).toBe(false);
  expect((await backup(data, file)).code).toBe(0);
  expect(readdirSync(out)).toEqual(["b.tar.gz"]);

  // Killed while it unpacks: the data is as before, and the next restore starts over.
  writeFileSync(join(data, "plugins/one/mark"), "old");
  const args = [...PROGRAM, "restore", file, "--data-dir", data, "--force"];
  const unpacking = startProgram(args);
  const journal = join(data, "flotilla.db-restore.json");
  let ended = false;
  void unpacking.exited.then(() => {
    ended = true;
  });
  await until(() => ended || existsSync(join(data, "flotilla.db.restore")));
  unpacking.kill("SIGKILL");
  await unpacking.exited;
  // On a slow machine it may have exchanged them before the kill.
  if (!existsSync(journal)) {
    for (const name of ["flotilla.db", "plugins/one/plugin.json"])
      expect(existsSync(join(data, name))).toBe(true);
    if (!existsSync(join(data, "plugins.before-restore")))
      expect(existsSync(join(data, "plugins/one/mark"))).toBe(true);
  }
  writeFileSync(join(data, "plugins/one/mark"), "old");

  // Cut off half way of the exchange, as a kill between two renames leaves it.
  rmSync(journal, { force: true });
  for (const name of ["flotilla.db", "objects", "plugins"])
    await $`rm -rf ${join(data, `${name}.before-restore`)} ${join(data, `${name}.restore`)}`;
  await $`cp ${join(data, "flotilla.db")} ${join(data, "flotilla.db.before-restore")}`;
  await $`rm ${join(data, "flotilla.db")}`;
  await $`mkdir -p ${join(data, "plugins.restore")}`;
  await $`mv ${join(data, "flotilla.db.before-restore")} ${join(data, "flotilla.db.restore")}`;
  const move = (name: string, staged = true) => ({
    target: join(data, name),
    staged: staged ? join(data, `${name}.restore`) : null,
    aside: join(data, `${name}.before-restore`),
  });
  const moves = [move("flotilla.db"), move("plugins")];
  writeFileSync(journal, JSON.stringify({ backup: file, moves }));
  const start = await flotilla("migrate", "--data-dir", data);
  expect(start.stderr).toContain("run flotilla restore again");
  expect(existsSync(join(data, "flotilla.db"))).toBe(false);
  const finished = await restore(file, data);
  expect(finished.stdout).toContain("finished the interrupted restore of");
  expect(readdirSync(join(data, "plugins"))).toEqual([]);
  expect(readFileSync(join(data, "plugins.before-restore/one/mark"), "utf8")).toBe("old");
  expect(existsSync(journal)).toBe(false);
}, 180_000);

test("backup says what to use for Postgres, and names a database that is not there (rules/operations#backups)", async () => {
  const env = { SVC_DB_URL: "postgres://a:b@127.0.0.1:9/x" };
  const postgres = await runProgram([...PROGRAM, "backup", "/tmp"], { env });
  expect(postgres.code).toBe(1);
  expect(postgres.stderr).toContain("pg_dump");
  const none = await flotilla("backup", "/tmp", "--data-dir", join(newDir(), "none"));
  expect(none.stderr).toContain("there is no database at");
}, 180_000);

test("with Postgres the printed pg_dump is run as it is, shows no password, and its dump is whole (rules/operations#backups)", async () => {
  const server = await startPostgres();
  try {
    const url = new URL(await server.createDatabase());
    url.password = "hunter2";
    const env = { SVC_DB_URL: url.href };
    const { stderr } = await runProgram([...PROGRAM, "backup", "/tmp"], { env });
    expect(stderr).not.toContain("hunter2");
    const command = /(pg_dump .*?) \(of the server's version/.exec(stderr)?.[1] ?? "";
    const cwd = newDir();
    const shell = { cwd, env: { PGPASSWORD: "hunter2" } };
    expect(await runProgram(["sh", "-c", command], shell)).toMatchObject({ code: 0, stderr: "" });
    const empty = await server.createDatabase("empty");
    const restore = ["pg_restore", "--clean", "--if-exists", `--dbname=${empty}`, "flotilla.dump"];
    expect(await runProgram(restore, shell)).toMatchObject({ code: 0, stderr: "" });
    const migrate = [...PROGRAM, "migrate", "--dry-run"];
    expect((await runProgram(migrate, { env: { SVC_DB_URL: empty } })).code).toBe(0);
  } finally {
    await server.stop();
  }
}, 180_000);

async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!holds()) {
    if (Date.now() > end) throw new Error("it never came");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
