import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "#test/support/rigs/program.ts";
import { startS3, type TestS3 } from "#test/support/servers/s3.ts";
import { ensureBinary } from "../../scripts/build.ts";

/** Backups by the compiled binary where bodies are in a bucket; what is in them is judged in flow/backup-s3.test.ts. */

let binary: string;
let bucket: TestS3;
beforeAll(async () => {
  [binary, bucket] = await Promise.all([ensureBinary(), startS3()]);
}, 300_000);
afterAll(() => bucket.stop());
const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

test("a backup leaves the bodies to the bucket, says whether that keeps versions, and goes back beside the same bucket alone", async () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-ops-backup-"));
  dirs.push(dir);
  const [data, to, file] = [join(dir, "data"), join(dir, "to"), join(dir, "b.tar.gz")];
  const env = bucket.env("ops");
  const flotilla = (...words: string[]) => runProgram([binary, ...words], { env });
  expect((await flotilla("migrate", "--data-dir", data)).code).toBe(0);

  const warned = await flotilla("backup", file, "--data-dir", data);
  expect(warned.code).toBe(0);
  expect(warned.stderr).toContain("versions");
  await bucket.setVersioning("Enabled");
  const taken = await flotilla("backup", join(dir, "again.tar.gz"), "--data-dir", data);
  expect({ code: taken.code, stderr: taken.stderr }).toEqual({ code: 0, stderr: "" });
  expect(taken.stdout).toContain(
    `bodies stay in bucket flotilla at ${bucket.endpoint}, below ops/`,
  );
  expect((await flotilla("backup", "verify", file)).code).toBe(0);

  const directory = { ...env, SVC_OBJECTS_URL: "" };
  const words = ["restore", file, "--data-dir", to];
  const refused = await runProgram([binary, ...words], { env: directory });
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("--other-objects");
  expect(existsSync(join(to, "flotilla.db"))).toBe(false);
  expect((await flotilla(...words)).code).toBe(0);
  expect(existsSync(join(to, "flotilla.db"))).toBe(true);
}, 180_000);
