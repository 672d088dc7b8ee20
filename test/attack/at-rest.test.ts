import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { hostForJob } from "#hub/fleet/registries/hosts.ts";
import { profileKey } from "#hub/fleet/registries/profiles.ts";
import type { LinkGrant } from "#hub/platform/access/links/seal.ts";
import { convertSecrets } from "#hub/platform/secrets/convert.ts";
import { addKey, readKeyFile, replaceKeys } from "#hub/platform/secrets/key-file.ts";
import { followKeyFile } from "#hub/platform/secrets/keyring.ts";
import { checkSecrets } from "#hub/program/commands/doctor/secrets.ts";
import { isEncrypted } from "#hub/program/commands/install/encrypted.ts";
import { systemClock } from "#shared/kit/clock.ts";
import {
  COOKIE,
  cookie,
  expectLoggedIn,
  filesBelow,
  holders,
  logIn,
  makeOld,
  modeOf,
  run,
  untilSealed,
} from "#test/support/rigs/at-rest.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import { commonKeyFile } from "#test/support/rigs/key-file.ts";
import { contentOf } from "#test/support/servers/objects.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/** What a thief of the disk, of a backup or of the database's server finds: no login. */

const hubs: TestHub[] = [];
const dirs: string[] = [];
afterEach(async () => {
  await Promise.all(hubs.splice(0).map((hub) => hub.close()));
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

const newDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-at-rest-"));
  dirs.push(dir);
  return dir;
};

async function start(env: Record<string, string> = {}): Promise<TestHub> {
  const hub = await startTestHub({ alone: true, env });
  hubs.push(hub);
  return hub;
}

describe("SQLite", () => {
  test("database, WAL, stores, logs and backups hold no cookie and no profile, and are for their user alone", async () => {
    const hub = await start();
    await logIn(hub);
    await expectLoggedIn(hub);
    expect(holders(hub.root)).toEqual([]);
    expect(JSON.stringify(hub.log)).not.toContain(COOKIE);
    const { config } = hub.ctx;
    expect(modeOf(config.secret_key_file)).toBe("600");
    expect(await checkSecrets(config)).toMatchObject({ status: "ok" });
    chmodSync(config.secret_key_file, 0o640);
    const open = await checkSecrets(config);
    expect(open).toMatchObject({ status: "fail", advice: expect.stringContaining("chmod 600") });
    const file = join(newDir(), "backup.tar.gz");
    expect(await run(hub, "backup", [file])).toMatchObject({ code: 0 });
    expect(modeOf(file)).toBe("600");
    await Bun.$`tar -xzf ${file} -C ${newDir()}`.quiet();
    expect(holders(dirs.at(-1) ?? "")).toEqual([]);
    expect(filesBelow(dirs.at(-1) ?? "").some((path) => path.endsWith("secret.key"))).toBe(false);
  }, 180_000);

  test("the key of signed links lies encrypted, and links open over a start, a new key and none", async () => {
    const hub = await start();
    const grant: LinkGrant = {
      kind: "asset",
      id: "j",
      name: "a.png",
      mode: "view",
      expires_at: Date.now() + 600_000,
      token_id: null,
    };
    const link = await hub.ctx.signed_links.make(grant);
    const stored = () => hub.ctx.db.settings.get("link_secret");
    expect(await stored()).toStartWith("sealed:1:");
    for (const action of ["rotate", "decrypt"]) {
      await hub.stop();
      expect(await run(hub, "secrets", [action])).toMatchObject({ code: 0 });
      await hub.restart();
      expect(await hub.ctx.signed_links.read(link)).toEqual(grant);
    }
    while (!String(await stored()).startsWith("sealed:1:")) await Bun.sleep(20);
  }, 180_000);

  test("a value that is moved to another host, or changed, is not given to any job", async () => {
    const hub = await start();
    await logIn(hub);
    const { hosts } = hub.ctx.db;
    const [row] = await hosts.cookiesAfter(null, 1);
    expect(row?.host).toBe("login.test");
    await hub.call("PUT", "/hosts/other.test/cookies", {
      cookies: [{ ...cookie, domain: "other.test", value: "x" }],
    });
    const [other] = await hosts.cookiesAfter("login.test", 1);
    expect(other?.host).toBe("other.test");
    const moved = (row?.cookies ?? []).map((one) => ({ ...one, domain: "other.test" }));
    expect(await hosts.exchangeCookies("other.test", other?.raw, moved)).toBe(true);
    expect((await hostForJob(hub.ctx, "other.test")).cookies).toEqual([]);
    expect(hub.log.map(({ message }) => message)).toContain("a cookie cannot be decrypted");
    await expectLoggedIn(hub);
  }, 180_000);

  test("a profile that was changed, cut off or put in the place of another is not given out whole", async () => {
    const hub = await start();
    await logIn(hub);
    const [row] = await hub.ctx.db.profiles.list();
    const key = profileKey("login", row?.sha256 ?? "");
    const path = join(hub.data_dir, "objects", key);
    const bytes = readFileSync(path);
    const changed = Buffer.from(bytes);
    changed[bytes.length - 40] = (changed[bytes.length - 40] ?? 0) ^ 1;
    for (const bad of [changed, bytes.subarray(0, 64 * 1024 + 71), bytes.subarray(0, -1)]) {
      writeFileSync(path, bad);
      await expect(contentOf(hub.ctx.profile_archives, key)).rejects.toThrow(/changed|cut off/);
    }
    writeFileSync(path, bytes);
    copyFileSync(path, join(hub.data_dir, "objects/profiles/p-login/other.tar.gz"));
    await expect(
      contentOf(hub.ctx.profile_archives, "profiles/p-login/other.tar.gz"),
    ).rejects.toThrow(/another place/);
    await expectLoggedIn(hub);
  }, 180_000);

  test("what an earlier version stored is encrypted at the start, and none of it stays in the files", async () => {
    const hub = await start();
    expect(await isEncrypted({ SVC_DB_URL: hub.ctx.config.db_url })).toBe(true);
    await makeOld(hub);
    // What a rollback to a version that knows of no keys looks at.
    expect(await isEncrypted({ SVC_DB_URL: hub.ctx.config.db_url })).toBe(false);
    expect(holders(hub.root).length).toBeGreaterThan(1);
    await hub.restart();
    await untilSealed(hub);
    await expectLoggedIn(hub);
    expect(holders(hub.root)).toEqual([]);
  }, 180_000);

  test("a key that is missing or another one is refused in one sentence, before anything is written", async () => {
    const hub = await start();
    await logIn(hub);
    await hub.stop();
    const path = hub.ctx.config.secret_key_file;
    const key = readFileSync(path);
    const [{ id } = { id: "" }] = readKeyFile(path) ?? [];
    rmSync(path);
    const before = filesBelow(hub.data_dir).map((file) => [
      file,
      readFileSync(file).toString("hex"),
    ]);
    await expect(hub.restart()).rejects.toThrow(
      new RegExp(`^SVC_SECRET_KEY_FILE: .* does not exist, and the cookies .* key ${id}: put `),
    );
    writeFileSync(path, `flotilla-key-1:${randomBytes(32).toString("base64url")}\n`);
    await expect(hub.restart()).rejects.toThrow(
      /^SVC_SECRET_KEY_FILE: .* holds key [0-9a-f]{16}, /,
    );
    rmSync(path);
    expect(filesBelow(hub.data_dir).map((f) => [f, readFileSync(f).toString("hex")])).toEqual(
      before,
    );
    writeFileSync(path, key);
    await hub.restart();
    await expectLoggedIn(hub);
  }, 180_000);

  test("without the key the hub goes on once its secrets were given up by name", async () => {
    const hub = await start();
    await logIn(hub);
    await hub.stop();
    rmSync(hub.ctx.config.secret_key_file);
    const { code, out } = await run(hub, "secrets", ["forget"]);
    expect([code, out]).toEqual([0, expect.stringContaining("deleted 2 cookies and 1 profiles")]);
    await hub.restart();
    expect((await hub.call("GET", "/profiles")).body.profiles).toEqual([]);
    expect((await hub.call("GET", "/hosts/login.test")).body.cookies).toEqual([]);
    await logIn(hub);
    await expectLoggedIn(hub);
  }, 180_000);

  test("a new key encrypts everything again, and the old one opens nothing any more", async () => {
    const hub = await start();
    await logIn(hub);
    await hub.stop();
    const path = hub.ctx.config.secret_key_file;
    const old = readFileSync(path);
    const { code, out } = await run(hub, "secrets", ["rotate"]);
    expect([code, out]).toEqual([0, expect.stringContaining("2 cookies and 1 profiles are encr")]);
    expect(modeOf(path)).toBe("600");
    const lines = readFileSync(path, "utf8").trim().split("\n");
    expect(lines).toHaveLength(3);
    writeFileSync(path, `${lines.slice(0, 2).join("\n")}\n`);
    await hub.restart();
    await expectLoggedIn(hub);
    await hub.stop();
    writeFileSync(path, old);
    await expect(hub.restart()).rejects.toThrow(/^SVC_SECRET_KEY_FILE: .* holds key/);
    writeFileSync(path, lines.join("\n"));
    await hub.restart();
  }, 180_000);

  test("a key that was put first by hand encrypts everything at the next start, and the older one may go", async () => {
    const hub = await start();
    await logIn(hub);
    await hub.stop();
    const path = hub.ctx.config.secret_key_file;
    const [first] = addKey(path);
    await hub.restart();
    await untilSealed(hub);
    const check = () => hub.ctx.db.settings.get("secret_key_check") as Promise<{ key_id: string }>;
    while ((await check()).key_id !== first?.id) await Bun.sleep(20);
    await hub.stop();
    replaceKeys(path, first ? [first] : []);
    await hub.restart();
    await expectLoggedIn(hub);
  }, 180_000);

  test("a backup has the key when it is asked to; a restore without it says which is missing", async () => {
    const hub = await start();
    await logIn(hub);
    const [{ id } = { id: "" }] = readKeyFile(hub.ctx.config.secret_key_file) ?? [];
    const out = newDir();
    const [without, with_key] = [join(out, "without.tar.gz"), join(out, "with.tar.gz")];
    expect((await run(hub, "backup", [without])).code).toBe(0);
    expect((await run(hub, "backup", [with_key], { "with-key": [""] })).code).toBe(0);
    expect((await run(hub, "backup", ["verify", without])).out).toContain(
      `encrypted with key ${id}, which is not included`,
    );
    expect((await run(hub, "backup", ["verify", with_key])).out).toContain("which is included");
    const restored = await run(hub, "restore", [without], {}, join(out, "a"));
    expect(restored).toMatchObject({
      code: 0,
      out: expect.stringContaining(`with key ${id}, which`),
    });
    const whole = await run(hub, "restore", [with_key], {}, join(out, "b"));
    expect(whole.out).not.toContain("encrypted with");
    expect(modeOf(join(out, "b/secret.key"))).toBe("600");
    const again = await start({ SVC_DATA_DIR: join(out, "b") });
    await expectLoggedIn(again);
  }, 180_000);
});

describe("Postgres, several hubs", () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  }, 180_000);
  afterAll(() => server?.stop());

  test("hubs with the same key read each other's; one with another key is refused and leaves everything as it was", async () => {
    const env = { SVC_DB_URL: await server.createDatabase() };
    const hub = await start(env);
    await logIn(hub);
    const sql = postgres(env.SVC_DB_URL, { max: 1 });
    const [row] = await sql`select cookies::text as text from hosts where host = 'login.test'`;
    expect(row?.text).toContain("sealed:1:");
    expect(row?.text).not.toContain(COOKIE);
    const dir = newDir();
    const other = join(dir, "other.key");
    const stranger = startTestHub({ alone: true, env: { ...env, SVC_SECRET_KEY_FILE: other } });
    await expect(stranger).rejects.toThrow(/another hub uses this|does not exist, and the cookies/);
    await hub.stop();
    await expect(
      startTestHub({ alone: true, env: { ...env, SVC_SECRET_KEY_FILE: other } }),
    ).rejects.toThrow(/^SVC_SECRET_KEY_FILE: .* does not exist, and the cookies/);
    expect(readdirSync(dir)).toEqual([]);
    const objects = `file:${join(hub.data_dir, "objects")}`;
    const second = await start({ ...env, SVC_OBJECTS_URL: objects });
    await expectLoggedIn(second);
    await sql.end();
  }, 180_000);

  test("hubs of other machines share it without a key file until one is named; then it must be the same", async () => {
    const env = { SVC_DB_URL: await server.createDatabase(), SVC_SECRET_KEY_FILE: "" };
    const first = await start(env);
    await logIn(first);
    const objects = `file:${join(first.data_dir, "objects")}`;
    const signs = first.ctx.update_key?.public;
    const plain = "cookies, profiles and logins of proxies are stored as they are";
    expect(first.log.some(({ message }) => String(message).startsWith(plain))).toBe(true);
    await first.stop();
    const elsewhere = await start({ ...env, SVC_OBJECTS_URL: objects });
    await expectLoggedIn(elsewhere);
    expect(elsewhere.ctx.update_key?.public).toBe(signs as string);
    await elsewhere.stop();
    const key = join(newDir(), "fleet.key");
    const named = await start({ ...env, SVC_OBJECTS_URL: objects, SVC_SECRET_KEY_FILE: key });
    await untilSealed(named);
    await expectLoggedIn(named);
    expect(named.ctx.update_key?.public).toBe(signs as string);
    await named.stop();
    await expect(startTestHub({ alone: true, env })).rejects.toThrow(
      /^SVC_SECRET_KEY_FILE: .* does not exist, and the cookies/,
    );
  }, 180_000);

  test("what an earlier version stored is encrypted while a hub keeps writing", async () => {
    const env = { SVC_DB_URL: await server.createDatabase() };
    const hub = await start(env);
    await logIn(hub);
    const keys = followKeyFile(commonKeyFile(), readKeyFile(commonKeyFile()) ?? [], systemClock);
    const { db, objects } = hub.ctx;
    const deps = { db, objects, profileKey, keys };
    expect(await convertSecrets(deps, "open")).toMatchObject({ cookies: 2, profiles: 1 });
    const sql = postgres(env.SVC_DB_URL, { max: 1 });
    const stored = async () =>
      (await sql<{ text: string }[]>`select cookies::text as text from hosts order by host`).map(
        ({ text }) => text.includes(COOKIE),
      );
    expect(await stored()).toEqual([true, true]);
    await expectLoggedIn(hub);
    const converting = convertSecrets(deps, "seal");
    await hub.call("PUT", "/hosts/login.test/cookies", { cookies: [cookie] });
    await converting;
    expect(await stored()).toEqual([false, false]);
    await expectLoggedIn(hub);
    await sql.end();
  }, 180_000);
});
