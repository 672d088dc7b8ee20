import { Database } from "bun:sqlite";
import { afterEach, beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { $ } from "bun";
import { pack } from "tar-stream";
import { runProgram } from "#test/support/rigs/program.ts";
import { ensureBinary } from "../../scripts/build.ts";

let binary: string;
beforeAll(async () => {
  binary = await ensureBinary();
}, 300_000);

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});
const newDir = () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-ops-backup-"));
  dirs.push(dir);
  return dir;
};
const flotilla = (...words: string[]) => runProgram([binary, ...words]);
/** With the umask of whoever calls it. */
const flotillaUnder = (umask: string, ...words: string[]) =>
  runProgram(["/bin/sh", "-c", `umask ${umask}; exec "$@"`, "sh", binary, ...words]);
/** The runtime keeps its native library there. */
const leftIn = (dir: string) => readdirSync(dir).filter((name) => !name.startsWith(".bun-"));
const isRoot = process.getuid?.() === 0;

/** A data directory as a hub of the unit leaves it: a database, bodies, a profile and a plugin with a program in it. */
async function dataDir(): Promise<string> {
  const data = join(newDir(), "data");
  expect((await flotillaUnder("027", "migrate", "--data-dir", data)).code).toBe(0);
  const write = (path: string, text: string, mode = 0o640) => {
    mkdirSync(join(data, path, ".."), { recursive: true, mode: 0o750 });
    writeFileSync(join(data, path), text);
    chmodSync(join(data, path), mode);
  };
  write("objects/profiles/p-work/abc.tar.gz", "a profile");
  write("objects/plugins/one/blob/a.txt", "a blob");
  write("plugins/one/plugin.json", '{"slug":"one"}');
  write("plugins/one/run.sh", "#!/bin/sh\necho one\n", 0o755);
  write("plugins/one/key.pem", "a key", 0o600);
  for (const dir of ["", "objects", "objects/profiles", "objects/plugins", "plugins"])
    chmodSync(join(data, dir), 0o750);
  chmodSync(join(data, "objects/profiles/p-work"), 0o700);
  chmodSync(join(data, "plugins/one"), 0o755);
  return data;
}

/** Path, permissions and owner of everything below. */
function permissionsBelow(dir: string, top = dir): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(dir)) {
    if (/-lock$|-wal$|-shm$|\.before-restore/.test(name)) continue;
    const path = join(dir, name);
    const { mode, uid, gid } = lstatSync(path);
    found[relative(top, path)] = `${(mode & 0o7777).toString(8)} ${uid}:${gid}`;
    if (lstatSync(path).isDirectory()) Object.assign(found, permissionsBelow(path, top));
  }
  return found;
}

function give(dir: string, uid: number): void {
  chownSync(dir, uid, uid);
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    if (lstatSync(path).isDirectory()) give(path, uid);
    else chownSync(path, uid, uid);
  }
}

test("every restored file and directory has the permissions and the owner it had, whatever the caller's umask (rules/operations#restore)", async () => {
  const [data, out] = [await dataDir(), newDir()];
  if (isRoot) give(data, 12_345);
  const file = join(out, "b.tar.gz");
  expect(await flotilla("backup", file, "--data-dir", data)).toMatchObject({ code: 0, stderr: "" });
  expect((lstatSync(file).mode & 0o777).toString(8)).toBe("600");
  const before = permissionsBelow(data);
  expect(before.objects).toStartWith("750 ");
  expect(before["plugins/one/run.sh"]).toStartWith("755 ");
  for (const umask of ["022", "077"]) {
    const other = join(newDir(), "data");
    mkdirSync(other, { mode: 0o750 });
    if (isRoot) chownSync(other, 12_345, 12_345);
    const restored = await flotillaUnder(umask, "restore", file, "--data-dir", other);
    expect(restored).toMatchObject({ code: 0, stderr: "" });
    expect(permissionsBelow(other)).toEqual(before);
  }
  // Over the data that is there, as an operator does it.
  const over = await flotillaUnder("022", "restore", file, "--data-dir", data, "--force");
  expect(over.code).toBe(0);
  expect(permissionsBelow(data)).toEqual(before);
}, 240_000);

test("a manifest gives nobody the right to write for all, no setuid bit, and changes nothing outside (rules/operations#restore)", async () => {
  const [data, unpacked] = [await dataDir(), newDir()];
  const file = join(newDir(), "b.tar.gz");
  await flotilla("backup", file, "--data-dir", data);
  await $`tar xzf ${file} -C ${unpacked}`;
  const manifest = JSON.parse(readFileSync(join(unpacked, "manifest.json"), "utf8"));
  const names = ["plugins/one/run.sh", "plugins/one", "database.sqlite", "database.sqlite/.."];
  manifest.modes = [
    ...names.map((name) => [name, 0o4777]),
    ["objects/../../victim", 0o777],
    ["plugins/one/plugin.json", 0],
  ];
  writeFileSync(join(unpacked, "manifest.json"), JSON.stringify(manifest));
  await $`tar czf ${file} -C ${unpacked} database.sqlite objects plugins manifest.json`;
  const parent = newDir();
  mkdirSync(join(parent, "victim"), { mode: 0o700 });
  const other = join(parent, "data");
  mkdirSync(other, { mode: 0o750 });
  expect((await flotilla("restore", file, "--data-dir", other)).code).toBe(0);
  const modeOf = (path: string) => (lstatSync(join(parent, path)).mode & 0o7777).toString(8);
  expect(modeOf("data/plugins/one/run.sh")).toBe("775");
  expect(modeOf("data/plugins/one")).toBe("775");
  expect(modeOf("data/plugins/one/plugin.json")).toBe("600");
  expect(modeOf("data/flotilla.db")).toBe("775");
  expect([modeOf("data"), modeOf("victim")]).toEqual(["750", "700"]);
}, 240_000);

test("backup verify tells what is in a backup, restores nothing and leaves nothing behind (rules/operations#backups)", async () => {
  const [data, out, scratch] = [await dataDir(), newDir(), newDir()];
  const file = join(out, "b.tar.gz");
  await flotilla("backup", file, "--data-dir", data);
  const before = permissionsBelow(out);
  const env = { TMPDIR: scratch };
  const said = await runProgram([binary, "backup", "verify", file], { env });
  expect(said).toMatchObject({ code: 0, stderr: "" });
  expect(said.stdout).toContain(`${file} is complete`);
  expect(said.stdout).toMatch(/^database: SQLite, .*0 jobs, \d+ migrations, up to date$/m);
  expect(said.stdout).toMatch(/^objects: {2}2 files, /m);
  expect(said.stdout).toMatch(/^plugins: {2}3 files, /m);
  const { stdout } = await runProgram([binary, "backup", "verify", file, "--json"], { env });
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    file,
    missing: [],
    database: { pending: [], jobs: 0 },
    objects: { files: 2, size: 15 },
    plugins: { files: 3 },
  });
  expect(leftIn(scratch)).toEqual([]);
  expect(permissionsBelow(out)).toEqual(before);
  for (const [words, why] of [
    [["verify"], "backup verify needs FILE"],
    [["a", "b"], 'unexpected word "b"'],
  ] as const) {
    const wrong = await flotilla("backup", ...words);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain(why);
  }
}, 240_000);

/** A tar of these entries; a size above that of the text is only announced. */
async function writeTar(file: string, entries: { name: string; text: string; size?: number }[]) {
  const tar = pack();
  const chunks: Uint8Array[] = [];
  tar.on("data", (chunk) => chunks.push(chunk as Uint8Array));
  tar.on("error", () => {});
  for (const { name, text, size } of entries) {
    if (size === undefined) tar.entry({ name }, text);
    else tar.entry({ name, size }).write(text);
  }
  tar.finalize();
  await Bun.sleep(0);
  writeFileSync(file, Bun.gzipSync(Buffer.concat(chunks)));
}

test("backup verify refuses every broken or hostile backup with the words of restore, and changes nothing (rules/operations#backups)", async () => {
  const [data, out] = [await dataDir(), newDir()];
  const whole = join(out, "whole.tar.gz");
  await flotilla("backup", whole, "--data-dir", data);
  const unpacked = newDir();
  await $`tar xzf ${whole} -C ${unpacked}`;
  const PARTS = ["database.sqlite", "objects", "plugins", "manifest.json"];
  const at = (name: string) => join(unpacked, name);
  const manifest = readFileSync(at("manifest.json"), "utf8");
  const database = readFileSync(at("database.sqlite"));
  const repack = async (as: string, parts = PARTS) => {
    await $`tar czf ${join(out, as)} -C ${unpacked} ${parts}`;
    writeFileSync(at("manifest.json"), manifest);
    writeFileSync(at("database.sqlite"), database);
    return join(out, as);
  };
  /** The database as `change` leaves it, with a manifest that fits. */
  const withDatabase = (as: string, change: (file: string) => void) => {
    change(at("database.sqlite"));
    const bytes = readFileSync(at("database.sqlite"));
    const parsed = JSON.parse(manifest);
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    parsed.files[0] = ["database.sqlite", bytes.length, sha256];
    writeFileSync(at("manifest.json"), JSON.stringify(parsed));
    return repack(as);
  };

  const short = join(out, "short.tar.gz");
  await $`cp ${whole} ${short}`;
  truncateSync(short, 2_000);
  const flipped = join(out, "flipped.tar.gz");
  const bytes = readFileSync(whole);
  bytes[Math.floor(bytes.length / 2)] = (bytes[Math.floor(bytes.length / 2)] ?? 0) ^ 0xff;
  writeFileSync(flipped, bytes);
  writeFileSync(at("manifest.json"), manifest.replace('"format":1', '"format":4'));
  const newer = await repack("newer.tar.gz");
  writeFileSync(at("plugins/one/plugin.json"), '{"slug":"two"}');
  const forged = await repack("forged.tar.gz");
  writeFileSync(at("plugins/one/plugin.json"), '{"slug":"one"}');
  const headless = await repack("headless.tar.gz", PARTS.slice(0, 3));
  const fewer = await repack("fewer.tar.gz", ["database.sqlite", "plugins", "manifest.json"]);
  writeFileSync(at("stranger"), "x");
  const stranger = await repack("stranger.tar.gz", [
    ...PARTS.slice(0, 3),
    "stranger",
    PARTS[3] ?? "",
  ]);
  const damaged = await withDatabase("damaged.tar.gz", (file) => {
    const pages = readFileSync(file);
    pages.fill(0xa5, 4_096 * 3, 4_096 * 6);
    writeFileSync(file, pages);
  });
  const later = await withDatabase("later.tar.gz", (file) => {
    const db = new Database(file);
    db.run("insert into schema_migrations values ('9999_later', 'x', 0)");
    db.close();
  });
  const outside = join(out, "outside.tar.gz");
  await writeTar(outside, [{ name: "objects/../../evil", text: "x" }]);
  const bomb = join(out, "bomb.tar.gz");
  await writeTar(bomb, [{ name: "database.sqlite", text: "x", size: 2 ** 46 }]);
  const noise = join(out, "noise");
  writeFileSync(noise, crypto.getRandomValues(new Uint8Array(5_000)));

  const rows = [
    [short, /cut off|damaged/],
    [flipped, /damaged|cut off|does not match the manifest/],
    [newer, "written by a newer version"],
    [forged, "plugins/one/plugin.json does not match the manifest"],
    [headless, "does not end with manifest.json"],
    [fewer, "does not match the manifest"],
    [stranger, 'it holds "stranger"'],
    [damaged, /the database is damaged|malformed/],
    [later, "9999_later"],
    [outside, "objects/../../evil"],
    [bomb, "the disk is full"],
    [noise, "neither a tar nor a tar.gz"],
    [join(out, "none"), "is not a file"],
  ] as const;
  const [scratch, other] = [newDir(), newDir()];
  const answers = rows.map(([bad]) => {
    const argv = [binary, "backup", "verify", bad];
    return runProgram(argv, { env: { TMPDIR: scratch } });
  });
  for (const [i, [bad, why]] of rows.entries()) {
    const said = await (answers[i] ?? Promise.reject(new Error("no answer")));
    expect({ bad, code: said.code, stdout: said.stdout }).toEqual({ bad, code: 1, stdout: "" });
    if (typeof why === "string") expect(said.stderr).toContain(why);
    else expect(said.stderr).toMatch(why);
    const refused = await flotilla("restore", bad, "--data-dir", other);
    expect({ bad, code: refused.code }).toEqual({ bad, code: 1 });
  }
  expect(leftIn(scratch)).toEqual([]);
  expect(readdirSync(other).filter((name) => !name.endsWith("-lock"))).toEqual([]);
  const told = await flotilla("backup", "verify", forged, "--json");
  expect(told.code).toBe(1);
  expect(JSON.parse(told.stdout)).toMatchObject({ ok: false, file: forged });
}, 240_000);
