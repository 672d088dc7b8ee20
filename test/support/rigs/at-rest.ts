import { expect } from "bun:test";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { hostForJob } from "#hub/fleet/registries/hosts.ts";
import { profileKey } from "#hub/fleet/registries/profiles.ts";
import { runOperatorCommand } from "#hub/program/commands/run.ts";
import { makeTarGz } from "#test/support/clients/tar.ts";
import type { TestHub } from "#test/support/rigs/hub.ts";
import { contentOf } from "#test/support/servers/objects.ts";

/** The logins that must not be found: of a host, and in a profile. */
export const COOKIE = `at-rest-${randomBytes(12).toString("hex")}`;
/** Longer than a few segments of what is encrypted. */
const LOGIN = randomBytes(256 * 1024);
const SECRETS = [Buffer.from(COOKIE), LOGIN.subarray(1_000, 1_048)];

export const cookie = { name: "session", value: COOKIE, domain: "login.test" };

/** Cookies by both ways that they come, and a browser's profile. */
export async function logIn(hub: TestHub): Promise<void> {
  const put = await hub.call("PUT", "/hosts/login.test/cookies", { cookies: [cookie] });
  expect(put.status).toBe(200);
  const synced = await hub.call("POST", "/hosts/cookies/sync", {
    scope: "all",
    cookies: [{ ...cookie, domain: "synced.test" }],
  });
  expect(synced.status).toBe(200);
  const archive = await makeTarGz([
    ["Default/Cookies", LOGIN],
    ["Local State", "{}"],
  ]);
  const stored = await fetch(`${hub.url}/profiles/login`, {
    method: "POST",
    headers: { "content-type": "application/x-tar" },
    body: new Uint8Array(archive),
  });
  expect(stored.status).toBe(201);
}

/** What jobs are given of them. */
export async function expectLoggedIn(hub: TestHub): Promise<void> {
  for (const host of ["login.test", "synced.test"]) {
    const { cookies } = await hostForJob(hub.ctx, host);
    expect(cookies.map(({ name, value }) => [name, value])).toEqual([["session", COOKIE]]);
  }
  const [row] = await hub.ctx.db.profiles.list();
  const key = profileKey(row?.name ?? "", row?.sha256 ?? "");
  const archive = await contentOf(hub.ctx.profile_archives, key);
  const plain = Buffer.from(Bun.gunzipSync(new Uint8Array(archive ?? [])));
  expect(plain.includes(SECRETS[1] ?? "")).toBe(true);
}

export const filesBelow = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const isPacked = (bytes: Uint8Array) => bytes[0] === 0x1f && bytes[1] === 0x8b;

/** Files that hold one of the secrets. */
export const holders = (dir: string): string[] =>
  filesBelow(dir).filter((path) => {
    const stored = readFileSync(path);
    const bytes = isPacked(stored) ? Buffer.from(Bun.gunzipSync(new Uint8Array(stored))) : stored;
    return SECRETS.some((secret) => bytes.includes(secret));
  });

export const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

export async function run(
  hub: TestHub,
  command: "secrets" | "backup" | "restore",
  words: string[],
  flags: Record<string, string[]> = {},
  data_dir = hub.data_dir,
) {
  const said: string[] = [];
  const terminal = {
    out: (text: string) => void said.push(text),
    err: (text: string) => void said.push(text),
  } as never;
  const { db_url, secret_key_file } = hub.ctx.config;
  const own = data_dir === hub.data_dir;
  const env = {
    SVC_DATA_DIR: data_dir,
    ...(own && { SVC_SECRET_KEY_FILE: secret_key_file }),
    ...(db_url.startsWith("postgres") && { SVC_DB_URL: db_url }),
  };
  const code = await runOperatorCommand({ command, words, flags }, { env, terminal, self: null });
  return { code, out: said.join("") };
}

/** As an earlier version has them: nothing is encrypted, and nothing says that anything should be. */
export async function makeOld(hub: TestHub): Promise<void> {
  await logIn(hub);
  await hub.stop();
  expect(await run(hub, "secrets", ["decrypt"])).toMatchObject({ code: 0 });
  rmSync(hub.ctx.config.secret_key_file);
}

const sealed = (hub: TestHub) => {
  const said = "cookies and profiles were encrypted with the key of today";
  return hub.log.some(({ message }) => message === said);
};
export async function untilSealed(hub: TestHub): Promise<void> {
  while (!sealed(hub)) await Bun.sleep(20);
}
