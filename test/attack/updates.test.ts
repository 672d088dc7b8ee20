import { afterEach, describe, expect, test } from "bun:test";
import { createHash, generateKeyPairSync } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openUpdateKey, type UpdateKey } from "#hub/platform/secrets/update-key.ts";
import { silentLog } from "#shared/kit/log.ts";
import {
  PROOF_HEADERS,
  publicKeyOf,
  signOffer,
  signRelease,
} from "#shared/protocol/update-proof.ts";
import { startTestHub } from "#test/support/rigs/hub.ts";
import { archiveOf, SMALL, startUpdateRig, versionOf } from "#test/support/rigs/update-rig.ts";
import { HUB_KEY_FILE, type Trusted } from "#worker/program/update/proof.ts";
import { findStaged } from "#worker/program/update/stage.ts";
import { signSums } from "../../scripts/release.ts";

/** Whoever changes the traffic between a worker and its hub, or publishes in place of the project, installs nothing. */

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const newPem = (): string =>
  generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const OURS = versionOf(SMALL);
const EVIL: [string, string][] = [["worker/b.ts", "export const stolen = 1;\n"]];
const hub_pem = newPem();
const HUB = publicKeyOf(hub_pem);
const RELEASED_AT = "2026-01-02T03:04:05.000Z";

/** What answers in the hub's place. */
interface Answer {
  archive: Uint8Array;
  version: string;
  /** Signs the offer; absent: an older hub. */
  hub_pem?: string;
  release_pem?: string;
  released_at?: string;
  /** In place of what the worker asked with. */
  nonce?: string;
  /** After everything was signed. */
  onItsWay?: (headers: Record<string, string>) => void;
}

function headersOf(answer: Answer, request: IncomingMessage): Record<string, string> {
  const asked = new URL(request.url ?? "", "http://hub").searchParams.get("for");
  const nonce = answer.nonce ?? asked ?? "";
  const what = { version: answer.version, sha256: sha256(answer.archive) };
  const headers: Record<string, string> = {};
  if (answer.hub_pem) {
    headers[PROOF_HEADERS.key] = publicKeyOf(answer.hub_pem);
    headers[PROOF_HEADERS.offer] = signOffer({ nonce, ...what }, answer.hub_pem);
  }
  if (answer.release_pem) {
    const released_at = answer.released_at ?? RELEASED_AT;
    headers[PROOF_HEADERS.released_at] = released_at;
    headers[PROOF_HEADERS.release] = signRelease({ ...what, released_at }, answer.release_pem);
  }
  answer.onItsWay?.(headers);
  return headers;
}

async function startWorker(trusted: Partial<Trusted>, pinned?: string) {
  let answer: Answer | undefined;
  const server = createServer((request, response) => {
    if (!answer) throw new Error("nothing to answer with");
    response.writeHead(200, headersOf(answer, request)).end(answer.archive);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  const rig = await startUpdateRig({ trusted: { release: null, hub_key: null, ...trusted } });
  closers.push(rig.close);
  if (pinned) {
    await Bun.write(join(rig.dir, HUB_KEY_FILE), `${pinned}\n`);
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/worker-source.tar.gz`;
  return {
    ...rig,
    /** Offers the version; resolves with why it was not taken, or null when the worker exits for it. */
    take: async (given: Answer, version = given.version): Promise<string | null> => {
      answer = given;
      rig.updater.offered(version, async () => url);
      return Promise.race([rig.refused(), rig.exited.then(() => null)]);
    },
    staged: (version: string) => findStaged(rig.dir, version),
  };
}

const genuine = async (more: Partial<Answer> = {}): Promise<Answer> => ({
  archive: await archiveOf([["VERSION", `${OURS}\n`], ...SMALL]),
  version: OURS,
  hub_pem,
  ...more,
});
const evil = async (more: Partial<Answer> = {}): Promise<Answer> => {
  const version = versionOf(EVIL);
  return { archive: await archiveOf([["VERSION", `${version}\n`], ...EVIL]), version, ...more };
};

describe("a worker of an unsigned build that has seen its hub's key", () => {
  test("takes what the hub signed for it", async () => {
    const worker = await startWorker({}, HUB);
    expect(await worker.take(await genuine())).toBeNull();
    expect(await worker.staged(OURS)).not.toBeNull();
  });

  const attempts: [string, () => Promise<Answer>, RegExp][] = [
    ["another archive under another version, unsigned", () => evil(), /has not signed the update/],
    [
      "another archive under another version, signed with another key",
      () => evil({ hub_pem: newPem() }),
      /signed with key [0-9a-f]{16}, but .*hub-key names/,
    ],
    [
      "another archive with the hub's own headers",
      async () => {
        const answer = await evil();
        const headers = headersOf(await genuine(), { url: "/?for=x" } as never);
        return { ...answer, onItsWay: (h) => void Object.assign(h, headers) };
      },
      /signature is wrong/,
    ],
    [
      "an archive of which one byte was changed",
      async () => {
        const answer = await genuine();
        const headers = headersOf(answer, { url: "/?for=x" } as never);
        const archive = Uint8Array.from(answer.archive);
        archive[20] = (archive[20] ?? 0) ^ 1;
        return {
          ...answer,
          archive,
          hub_pem: undefined as never,
          onItsWay: (h) => void Object.assign(h, headers),
        };
      },
      /signature is wrong/,
    ],
    [
      "an offer that the hub made at another time",
      () => genuine({ nonce: "an-earlier-nonce-0000" }),
      /signature is wrong/,
    ],
    [
      "an offer without its signature",
      () => genuine({ onItsWay: (headers) => void delete headers[PROOF_HEADERS.offer] }),
      /signature is wrong/,
    ],
  ];
  for (const [name, make, why] of attempts)
    test(`refuses ${name}, and nothing of it is unpacked`, async () => {
      const worker = await startWorker({}, HUB);
      const answer = await make();
      expect(await worker.take(answer)).toMatch(why);
      expect(await worker.staged(answer.version)).toBeNull();
      expect(worker.drains.all).toEqual([]);
    });

  test("refuses an older version that the hub signed under the name of a newer one", async () => {
    const worker = await startWorker({}, HUB);
    expect(await worker.take(await genuine(), "0123456789ab")).toMatch(/signature is wrong/);
  });
});

test("the first key that is seen is kept, for its user alone; SVC_UPDATE_KEY is believed instead", async () => {
  const worker = await startWorker({});
  expect(await worker.take(await genuine())).toBeNull();
  expect(readFileSync(join(worker.dir, HUB_KEY_FILE), "utf8").trim()).toBe(HUB);
  const told = await startWorker({ hub_key: HUB });
  expect(await told.take(await evil({ hub_pem: newPem() }))).toMatch(/SVC_UPDATE_KEY names/);
  expect(existsSync(join(told.dir, HUB_KEY_FILE))).toBe(false);
});

test("a hub of an older version, which signs nothing, is followed while no key is known, and the log says so", async () => {
  const worker = await startWorker({});
  const { hub_pem: _, ...unsigned } = await genuine();
  expect(await worker.take(unsigned)).toBeNull();
  expect(worker.log.all.map(({ message }) => message)).toContainEqual(
    expect.stringContaining("nothing proves where this update comes from"),
  );
});

describe("a worker of a signed build", () => {
  const release_pem = newPem();
  const release = { key: publicKeyOf(release_pem), released_at: RELEASED_AT };

  test("takes a release, from a hub that signs its offer and from one that cannot", async () => {
    const worker = await startWorker({ release });
    expect(await worker.take(await genuine({ release_pem }))).toBeNull();
    const { hub_pem: _, ...by_old_hub } = await genuine({ release_pem });
    expect(await (await startWorker({ release })).take(by_old_hub)).toBeNull();
  });

  test("refuses what is not signed with its release key, though the hub's key signs it", async () => {
    const no_release = await startWorker({ release }, HUB);
    expect(await no_release.take(await evil({ hub_pem }))).toMatch(
      /not signed with the (built-in )?release key/,
    );
    const other = await startWorker({ release }, HUB);
    const answer = await evil({ hub_pem, release_pem: newPem() });
    expect(await other.take(answer)).toMatch(/not signed with the (built-in )?release key/);
    expect(await other.staged(answer.version)).toBeNull();
  });

  test("refuses an old release that is brought back without the hub's word; with it an operator may go back", async () => {
    const old = { release_pem, released_at: "2025-01-01T00:00:00.000Z" };
    const { hub_pem: _, ...replayed } = await genuine(old);
    const worker = await startWorker({ release });
    expect(await worker.take(replayed)).toMatch(/released at 2025.*before those of this program/);
    expect(await (await startWorker({ release }, HUB)).take(await genuine(old))).toBeNull();
  });
});

test("hubs of one database sign with one key, which lies encrypted in it and signs for whom it was asked alone", async () => {
  const hub = await startTestHub({ alone: true });
  closers.push(hub.close);
  const key = hub.ctx.update_key as UpdateKey;
  expect(key.private_pem).toContain("PRIVATE KEY");
  const stored = JSON.stringify(await hub.ctx.db.settings.get("update_signing_key"));
  expect(stored).toContain(key.public);
  expect(stored).not.toContain(key.private_pem.split("\n")[1] ?? "");
  const again = await openUpdateKey(hub.ctx.db.settings, null, {
    makes: true,
    now: 1,
    log: silentLog,
  });
  expect(again).toBeNull();
  await hub.restart();
  expect(hub.ctx.update_key?.public).toBe(key.public);
});

test("openssl verifies a release as the guide says, and refuses one that was changed", async () => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-release-"));
  closers.push(() => rmSync(dir, { recursive: true }));
  for (const name of ["flotilla", "RELEASE"]) writeFileSync(join(dir, name), name);
  signSums(dir, ["flotilla", "RELEASE"], newPem());
  const verify = async () => {
    const check =
      "openssl pkeyutl -verify -pubin -inkey release.pub -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig && sha256sum --check --ignore-missing SHA256SUMS";
    const child = Bun.spawn(["sh", "-c", check], { cwd: dir, stdout: "pipe", stderr: "pipe" });
    return child.exited;
  };
  expect(await verify()).toBe(0);
  writeFileSync(join(dir, "flotilla"), "changed");
  expect(await verify()).not.toBe(0);
  writeFileSync(join(dir, "SHA256SUMS"), `${sha256(Buffer.from("changed"))}  flotilla\n`);
  expect(await verify()).not.toBe(0);
});
