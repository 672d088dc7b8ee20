import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Check } from "#hub/program/commands/doctor/check.ts";
import { binaryRig } from "#test/support/rigs/binary.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";
import { startS3, type TestS3 } from "#test/support/servers/s3.ts";

const rig = binaryRig();
let server: TestPostgres;
let bucket: TestS3;
beforeAll(async () => {
  [server, bucket] = await Promise.all([startPostgres(), startS3()]);
}, 300_000);
afterAll(() => Promise.all([server.stop(), bucket.stop()]));

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});
/** Reachable for other users, as a machine's own directories are. */
const newDir = () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-ops-doctor-"));
  chmodSync(dir, 0o755);
  dirs.push(dir);
  return dir;
};
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

async function doctor(args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await rig.run(["doctor", ...args, "--json"], { env });
  const checks = stdout.startsWith("{") ? (JSON.parse(stdout) as { checks: Check[] }).checks : [];
  return { code, stderr, of: (name: string) => checks.find((check) => check.name === name) };
}

/** What `install --prefix` makes, as a service that runs as nobody. */
async function installed(role: string, values: Record<string, string>) {
  const prefix = newDir();
  const args = ["install", role, "--prefix", prefix, "--user", "nobody"];
  const done = await rig.run([...args, "--binary", rig.path]);
  expect(done).toMatchObject({ code: 0 });
  const data = join(newDir(), "state");
  mkdirSync(data, { mode: 0o750 });
  if (isRoot) chownSync(data, NOBODY, NOBODY);
  const env_file = join(prefix, "etc/flotilla", role === "worker" ? "worker-main.env" : "hub.env");
  const lines = Object.entries({ SVC_DATA_DIR: data, ...values });
  writeFileSync(env_file, lines.map(([name, value]) => `${name}="${value}"\n`).join(""));
  return { prefix, data, env_file };
}

test("doctor --installed finds what the service's user finds, with the variables of its file, and root does not", async () => {
  if (!isRoot) return;
  const port = String(freePort());
  const { prefix, data } = await installed("hub", { SVC_PORT: port });
  const made = await rig.run(["migrate", "--data-dir", data]);
  expect(made.code).toBe(0);
  const good = await doctor(["hub", "--installed", "--prefix", prefix]);
  expect(good.of("service")?.found).toContain("checked as nobody");
  expect(good.of("database")).toMatchObject({ status: "ok" });
  expect(good.of("database")?.found).toContain("a trial write works");
  expect(good.of("disk")?.found).toContain(data);
  expect(good.of("port")?.found).toBe(`${port} is free`);

  // As a restore or a migration by hand may leave it: root's own, which root does not notice.
  chownSync(join(data, "flotilla.db"), 0, 0);
  chmodSync(join(data, "flotilla.db"), 0o600);
  const env = { SVC_DATA_DIR: data, SVC_PORT: port };
  const as_root = await doctor(["hub", "--prefix", prefix], env);
  expect(as_root.of("database")).toMatchObject({ status: "ok" });
  expect(as_root.of("looks as")).toMatchObject({
    status: "warn",
    advice: "sudo flotilla doctor hub --installed",
  });
  const bad = await doctor(["hub", "--installed", "--prefix", prefix]);
  expect(bad.code).toBe(1);
  expect(bad.of("database")).toMatchObject({ status: "fail" });
  expect(bad.of("database")?.advice).toContain(`user ${NOBODY} may not write ${data}/flotilla.db`);
  expect(existsSync(join(data, "objects"))).toBe(false);
}, 180_000);

test("doctor --installed starts a worker's browser as its user, and tells an update that failed", async () => {
  if (!isRoot) return;
  const base = freePort();
  const { prefix, data } = await installed("worker", {
    HUB_URL: `http://127.0.0.1:${freePort()}`,
    LANE_POOL: "1",
    SVC_CDP_PORT_BASE: String(base),
  });
  mkdirSync(join(data, "versions"));
  const bad = { version: "v9", reason: "it ended with 1", at: "2026-01-01T00:00:00Z" };
  const state = { base: "v8", current: null, previous: null, attempts: null, bad };
  writeFileSync(join(data, "versions/state.json"), JSON.stringify(state));
  const found = await doctor(["worker", "main", "--installed", "--prefix", prefix]);
  // Where this machine allows no namespaces, that is what it has to say.
  const start = found.of("browser start");
  if (found.of("user namespaces")?.status === "ok")
    expect(start?.found).toContain("in its sandbox");
  else expect(start?.advice).toBe(found.of("user namespaces")?.advice);
  expect(found.of("updates")?.found).toContain("version v9 failed here");
  expect(found.of("hub")?.found).toContain("nothing listens at");
  expect(found.of("worker link")?.advice).toContain("the hub must answer first");
}, 180_000);

test("doctor --installed says what is not installed, not readable, or wrong in the file", async () => {
  const prefix = newDir();
  const none = await rig.run(["doctor", "control", "--installed", "--prefix", prefix]);
  expect(none).toMatchObject({ code: 1, stdout: "" });
  expect(none.stderr).toContain("no control is installed here: sudo flotilla install control");
  if (!isRoot) return;
  const { prefix: with_hub, env_file } = await installed("hub", { SVC_PORT: "many" });
  const wrong = await doctor(["hub", "--installed", "--prefix", with_hub]);
  expect(wrong.code).toBe(1);
  expect(wrong.of("start")?.found).toContain("SVC_PORT");
  rmSync(env_file);
  const without = await rig.run(["doctor", "hub", "--installed", "--prefix", with_hub]);
  expect(without.stderr).toContain("hub.env is not there");
}, 180_000);

test("doctor writes into real stores and takes it back, and tells each refusal by its cause", async () => {
  const url = await server.createDatabase("migrated");
  const env = { SVC_DB_URL: url, ...bucket.env("doctor"), SVC_DATA_DIR: newDir() };
  const port = { SVC_PORT: String(freePort()) };
  const good = await doctor(["hub"], { ...env, ...port });
  expect(good.of("database")?.found).toContain("a trial write works");
  expect(good.of("objects")?.found).toContain("written, read and deleted");
  expect((await bucket.state()).keys).toEqual([]);
  const password = new URL(url);
  password.username = "nobody_made_it";
  const rows = [
    [{ SVC_DB_URL: password.href }, "database", "pg_hba.conf"],
    [{ SVC_DB_URL: url.replace(/\/[^/]+$/, "/none") }, "database", "create the database"],
    [{ S3_SECRET_ACCESS_KEY: "wrong" }, "objects", "S3_ACCESS_KEY_ID"],
    [
      { SVC_OBJECTS_URL: `s3://flotilla?endpoint=http://127.0.0.1:${freePort()}` },
      ...(["objects", "endpoint="] as const),
    ],
  ] as const;
  for (const [change, name, advice] of rows) {
    const check = (await doctor(["hub"], { ...env, ...port, ...change })).of(name);
    expect(check).toMatchObject({ name, status: "fail" });
    expect(check?.advice).toContain(advice);
  }
}, 240_000);
