import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
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
  withEnv,
} from "#test/support/rigs/backup-rig.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { startS3, type TestS3 } from "#test/support/servers/s3.ts";

let bucket: TestS3;
beforeAll(async () => {
  bucket = await startS3();
}, 180_000);
afterAll(() => bucket.stop());

test("with bodies in S3 a backup takes database and plugins, leaves the bodies to the bucket, and restored beside it serves them (rules/operations#backups)", async () => {
  const [data, other, out] = [join(newDir(), "data"), join(newDir(), "data"), newDir()];
  const env = bucket.env("served");
  const control = await fill(data, env);
  await bucket.setVersioning("Enabled");
  const file = join(out, "b.tar.gz");
  const taken = await withEnv(env, "backup", file, "--data-dir", data);
  expect({ code: taken.code, stderr: taken.stderr }).toEqual({ code: 0, stderr: "" });
  const where = `bucket flotilla at ${bucket.endpoint}, below served/`;
  expect(taken.stdout).toContain(`bodies stay in ${where}, which keeps versions`);
  await control.stop();

  const unpacked = newDir();
  await $`tar xzf ${file} -C ${unpacked}`;
  expect(readdirSync(unpacked).sort()).toEqual(["database.sqlite", "manifest.json", "plugins"]);
  const manifest = readFileSync(join(unpacked, "manifest.json"), "utf8");
  const place = { endpoint: bucket.endpoint, bucket: "flotilla", prefix: "served/" };
  expect(JSON.parse(manifest)).toMatchObject({ format: 2, bucket: place, missing: [] });
  expect(manifest).not.toContain(env.S3_SECRET_ACCESS_KEY ?? "none");
  const verified = await flotilla("backup", "verify", file);
  expect(verified).toMatchObject({ code: 0, stderr: "" });
  expect(verified.stdout).toContain(`objects:  not in the backup; they are in ${where}\n`);

  const forged = JSON.stringify({ ...JSON.parse(manifest), missing: ["jobs/a/assets/b"] });
  writeFileSync(join(unpacked, "manifest.json"), forged);
  const bad = join(out, "forged.tar.gz");
  await $`tar czf ${bad} -C ${unpacked} database.sqlite plugins manifest.json`;
  const refused = await flotilla("backup", "verify", bad);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("its manifest leaves them to a bucket");

  // Restoring asks the bucket nothing: its keys are not needed.
  const { SVC_OBJECTS_URL = "" } = env;
  const restored = await restore(file, other, "--objects-url", SVC_OBJECTS_URL);
  expect({ code: restored.code, stderr: restored.stderr }).toEqual({ code: 0, stderr: "" });
  expect(restored.stdout).toContain(`those in ${where} are unchanged`);
  expect(existsSync(join(other, "objects"))).toBe(false);
  const again = await startControl(other, env);
  expect(await again.call("GET", BLOB)).toBe("the blob");
  await again.stop();
}, 180_000);

test("restore puts no database beside bodies it does not belong to, unless it is told that they are there (rules/operations#restore)", async () => {
  const [data, plain, out] = [join(newDir(), "data"), join(newDir(), "data"), newDir()];
  const env = bucket.env("mine");
  await (await fill(data, env)).stop();
  await (await fill(plain)).stop();
  const [in_bucket, in_file] = [join(out, "s3.tar.gz"), join(out, "dir.tar.gz")];
  expect((await withEnv(env, "backup", in_bucket, "--data-dir", data)).code).toBe(0);
  expect((await backup(plain, in_file)).code).toBe(0);

  const to = join(newDir(), "data");
  mkdirSync(join(to, "objects"), { recursive: true });
  writeFileSync(join(to, "objects/copied"), "a body from the bucket");
  const { SVC_OBJECTS_URL: mine = "" } = env;
  const theirs = bucket.env("theirs").SVC_OBJECTS_URL ?? "";
  const elsewhere = mine.replace("127.0.0.1", "localhost");
  const place = `the backup has its bodies in bucket flotilla at ${bucket.endpoint}, below mine/, but SVC_OBJECTS_URL names `;
  const rows = [
    [in_bucket, [], `${place}${to}/objects: `],
    [
      in_bucket,
      ["--objects-url", theirs],
      `${place}bucket flotilla at ${bucket.endpoint}, below theirs/`,
    ],
    [in_bucket, ["--objects-url", elsewhere], `${place}bucket flotilla at http://localhost`],
    [
      in_file,
      ["--objects-url", mine],
      "the backup holds bodies, but SVC_OBJECTS_URL names a bucket",
    ],
    [in_file, ["--objects-url", mine, "--other-objects"], "the backup holds bodies"],
  ] as const;
  for (const [file, flags, why] of rows) {
    const refused = await restore(file, to, "--force", ...flags);
    expect({ flags, code: refused.code, stdout: refused.stdout }).toEqual({
      flags,
      code: 1,
      stdout: "",
    });
    expect(refused.stderr).toContain(why);
    expect(refused.stderr.trim().split("\n")).toHaveLength(1);
    expect(readdirSync(to).filter((name) => !name.endsWith("-lock"))).toEqual(["objects"]);
  }
  // What an earlier restore kept of the bodies is not thrown away by one that has none.
  mkdirSync(join(to, "objects.before-restore"));
  const told = await restore(in_bucket, to, "--force", "--other-objects");
  expect({ code: told.code, stderr: told.stderr }).toEqual({ code: 0, stderr: "" });
  expect(readFileSync(join(to, "objects/copied"), "utf8")).toBe("a body from the bucket");
  expect(existsSync(join(to, "objects.before-restore"))).toBe(true);
  expect(existsSync(join(to, "flotilla.db"))).toBe(true);
  const unread = await restore(in_bucket, join(newDir(), "data"), "--objects-url", "ftp://x");
  expect(unread.stderr).toContain("SVC_OBJECTS_URL");
}, 240_000);

test("backup and doctor warn of a bucket that keeps no versions, and of one that does not say (rules/operations#backups)", async () => {
  const [data, out] = [join(newDir(), "data"), newDir()];
  const env = { ...bucket.env("asked"), SVC_DATA_DIR: data, SVC_PORT: String(freePort()) };
  expect((await withEnv(env, "migrate")).code).toBe(0);
  const asked = async (more: Record<string, string> = {}) => {
    const all = { ...env, ...more };
    const [taken, doctor] = await Promise.all([
      withEnv(all, "backup", join(out, "b.tar.gz"), "--json"),
      withEnv(all, "doctor", "control", "--json"),
    ]);
    expect(taken.code).toBe(0);
    const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string }[] };
    const { versions } = (JSON.parse(taken.stdout) as { bucket: { versions: object } }).bucket;
    const check = checks.find(({ name }) => name === "bucket versions");
    return { warned: taken.stderr, versions, check };
  };
  const command = `aws s3api put-bucket-versioning --bucket flotilla --versioning-configuration Status=Enabled --endpoint-url ${bucket.endpoint}`;
  const rows = [
    ["never", "never_enabled", "keeps no versions", command],
    ["Suspended", "suspended", "no longer keeps versions", command],
    ["denied", "unknown", "AccessDenied", "s3:GetBucketVersioning"],
    ["not implemented", "unknown", "NotImplemented", "copy the bucket with its own tools"],
    [
      "not known",
      "unknown",
      "the server's answer does not say it",
      "look at the bucket's settings",
    ],
  ] as const;
  for (const [is, state, found, advice] of rows) {
    await bucket.setVersioning(is);
    const { warned, versions, check } = await asked();
    expect(versions).toMatchObject({ state });
    expect(warned).toStartWith("flotilla: warning: ");
    expect(warned).toContain(found);
    expect(warned).toContain(advice);
    const said = { found: expect.stringContaining(found), advice: expect.stringContaining(advice) };
    expect(check).toMatchObject({ status: "warn", ...said });
  }
  await bucket.setVersioning("Enabled");
  const kept = await asked();
  expect(kept).toMatchObject({
    warned: "",
    versions: { state: "enabled" },
    check: { status: "ok" },
  });
  const away = await asked({
    SVC_OBJECTS_URL: `s3://flotilla?endpoint=http://127.0.0.1:${freePort()}`,
  });
  expect(away.warned).toContain("could not find out whether bucket flotilla");
  expect(away.check).toMatchObject({ status: "warn" });
}, 240_000);

test("a hub with bodies in S3 backs itself up on its schedule, and its log warns of what the bucket does not keep (rules/operations#scheduled-backups)", async () => {
  const [data, out] = [join(newDir(), "data"), newDir()];
  await bucket.setVersioning("never");
  const s3 = bucket.env("scheduled");
  const env = { ...s3, SVC_LOG_FORMAT: "json" };
  const schedule = {
    SVC_BACKUP_DIR: out,
    SVC_BACKUP_SCHEDULE: "* * * * * *",
    SVC_BACKUP_KEEP: "1",
  };
  const control = await startControl(data, { ...env, ...schedule });
  await control.program.says("backup written and verified", 120_000);
  const log = control.program.stdout + control.program.stderr;
  expect(log).toContain("a restore of this backup would not bring everything back");
  // Asked with the keys, which the process of the backup has for that.
  expect(log).toContain("keeps no versions");
  expect(log).not.toContain(s3.S3_SECRET_ACCESS_KEY ?? "none");
  await control.stop();
}, 180_000);
