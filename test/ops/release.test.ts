import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash, generateKeyPairSync } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOffer, isRelease, PROOF_HEADERS, publicKeyOf } from "#shared/protocol/update-proof.ts";
import { newReleaseKey, writeRelease } from "#test/support/fakes/released.ts";
import { addressOf, binaryRig } from "#test/support/rigs/binary.ts";
import { runProgram } from "#test/support/rigs/program.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import { makeRelease } from "../../scripts/release.ts";

/** What `scripts/release` makes, and what a hub of it proves to its workers; the keys of a hub as its operator handles them. */

const flotilla = binaryRig();
const NONCE = "a-nonce-of-24-characters";
let dir: string;
let pem: string;
let release: Awaited<ReturnType<typeof makeRelease>>;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-release-"));
  pem = generateKeyPairSync("ed25519")
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString();
  writeFileSync(join(dir, "release.key"), pem, { mode: 0o600 });
  release = await makeRelease({
    key_file: join(dir, "release.key"),
    to: join(dir, "release"),
    name: "0.1.0",
    released_at: new Date().toISOString(),
    targets: [],
    url: null,
    maintainer: "Somebody <somebody@example.org>",
  });
}, 240_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const serve = (data_dir: string, binary?: string) =>
  flotilla.start(["hub", "--host", "127.0.0.1", "--port", "0", "--data-dir", data_dir], {
    binary,
    cwd: dir,
  });

async function ask(url: string) {
  const answer = await fetch(`${url}/worker-source.tar.gz?for=${NONCE}`);
  const sha256 = createHash("sha256")
    .update(await answer.bytes())
    .digest("hex");
  return {
    sha256,
    of: (name: keyof typeof PROOF_HEADERS) => answer.headers.get(PROOF_HEADERS[name]),
  };
}

test("a release is verified by hand, and its hub proves both the release and the offer", async () => {
  const [check = ""] = seededBlocks("how-to/signed-updates.md#verify-a-download", 1);
  expect(Bun.spawnSync(["sh", "-c", check], { cwd: release.dir }).exitCode).toBe(0);
  const hub = serve(join(dir, "signed"), join(release.dir, "flotilla"));
  const { sha256, of } = await ask(await addressOf(hub));
  const archive = readFileSync(join(release.dir, "worker-source.tar.gz"));
  expect(createHash("sha256").update(archive).digest("hex")).toBe(sha256);
  const { version, released_at } = release;
  expect(of("released_at")).toBe(released_at);
  const key = publicKeyOf(pem);
  expect(isRelease({ version, released_at, sha256 }, key, of("release") ?? "")).toBe(true);
  const offer = { nonce: NONCE, version, sha256 };
  expect(isOffer(offer, of("key") ?? "", of("offer") ?? "")).toBe(true);
  expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
  expect(readFileSync(join(release.dir, "flotilla")).includes(pem.split("\n")[1] ?? "")).toBe(
    false,
  );
}, 240_000);

test("a signed build upgrades itself by its own key, and not to a release that is older", async () => {
  const self = join(dir, "installed/flotilla");
  mkdirSync(join(dir, "installed"));
  copyFileSync(join(release.dir, "flotilla"), self);
  const offer = async (name: string, released_at: string, private_pem = pem) => {
    const at = join(dir, name);
    await writeRelease(at, { name: "9.1.0", version: "aaaaaaaaaaaa", released_at, private_pem });
    return runProgram([self, "upgrade", "--from", at], { cwd: dir });
  };
  const day = 86_400_000;
  const older = await offer("older", new Date(Date.parse(release.released_at) - day).toISOString());
  expect(older.code).toBe(1);
  expect(older.stderr).toContain(`before this program's ${release.released_at}`);
  const later = new Date(Date.parse(release.released_at) + day).toISOString();
  const others = await offer("others", later, newReleaseKey());
  expect(others.stderr).toContain("is not signed with the release key");
  const done = await offer("later", later);
  expect(done).toMatchObject({ code: 0, stderr: "" });
  expect((await runProgram([self, "--version"])).stdout).toBe("flotilla aaaaaaaaaaaa\n");
}, 240_000);

test("an unsigned build signs offers alone; doctor tells the keys, and secrets makes another one", async () => {
  const data = join(dir, "unsigned");
  const hub = serve(data);
  const { of } = await ask(await addressOf(hub));
  expect([of("released_at"), of("release")]).toEqual([null, null]);
  const at = ["--data-dir", data];
  expect(statSync(join(data, "secret.key")).mode & 0o777).toBe(0o600);
  const busy = await flotilla.run(["secrets", "rotate", ...at]);
  expect(busy.code).not.toBe(0);
  expect(busy.stderr).toContain("in use by another hub");
  expect(await flotilla.end(hub, "SIGTERM")).toBe(0);
  const told = async () => {
    const { stdout } = await flotilla.run(["doctor", "hub", "--json", ...at]);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; found: string }[] };
    return checks.find(({ name }) => name === "secrets");
  };
  const before = await told();
  expect(before).toMatchObject({ status: "ok", found: expect.stringContaining(of("key") ?? "-") });
  expect((await flotilla.run(["secrets", "rotate", ...at])).code).toBe(0);
  const after = await told();
  expect(after).toMatchObject({ status: "ok", found: expect.stringContaining(of("key") ?? "-") });
  expect(after?.found).not.toBe(before?.found);
  expect((await flotilla.run(["secrets", "status", ...at])).stdout).toContain("is encrypted with");
  const again = serve(data);
  expect((await ask(await addressOf(again))).of("key")).toBe(of("key"));
  expect(await flotilla.end(again, "SIGTERM")).toBe(0);
}, 240_000);
