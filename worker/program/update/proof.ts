import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "#shared/kit/log.ts";
import { replaceFile } from "#shared/kit/replace-file.ts";
import type { BuiltRelease } from "#shared/protocol/release.ts";
import { fingerprintOf, isOffer, isRelease, PROOF_HEADERS } from "#shared/protocol/update-proof.ts";
import { UpdateRefused } from "./stage.ts";

/** In the directory of versions: the key of the installation's hubs, as first seen. */
export const HUB_KEY_FILE = "hub-key";

/** The keys that this worker trusts. */
export interface Trusted {
  /** Null for an unsigned build. */
  release: Pick<BuiltRelease, "key" | "released_at"> | null;
  /** SVC_UPDATE_KEY; null: the first key seen. */
  hub_key: string | null;
}

interface Fetched {
  nonce: string;
  version: string;
  sha256: string;
  headers: Pick<Headers, "get">;
}

async function pinnedKey(dir: string): Promise<string | null> {
  const text = await readFile(join(dir, HUB_KEY_FILE), "utf8").catch((err: unknown) => {
    if (err instanceof Error && "code" in err && err.code === "ENOENT") return null;
    throw err;
  });
  return text?.trim() ?? null;
}

async function pin(dir: string, key: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await replaceFile(join(dir, HUB_KEY_FILE), `${key}\n`);
}

/** @returns when the sources were released; null if that is unknown. */
function demandRelease({ release }: Trusted, { version, sha256, headers }: Fetched): string | null {
  const released_at = headers.get(PROOF_HEADERS.released_at);
  if (release === null) return released_at;
  const signature = headers.get(PROOF_HEADERS.release) ?? "";
  if (released_at !== null && isRelease({ version, released_at, sha256 }, release.key, signature))
    return released_at;
  throw new UpdateRefused(
    `the sources of ${version} are not signed with the release key that this program was built with (${fingerprintOf(release.key)}): install a build with the same key here, or let the hub run one`,
  );
}

/** @returns whether the hub signed the offer. */
async function demandOffer(
  dir: string,
  { hub_key }: Trusted,
  { headers, ...offer }: Fetched,
  log: Log,
): Promise<boolean> {
  const key = headers.get(PROOF_HEADERS.key);
  const known = hub_key ?? (await pinnedKey(dir));
  if (key === null && known === null) return false;
  const where = hub_key === null ? join(dir, HUB_KEY_FILE) : "SVC_UPDATE_KEY";
  if (key === null)
    throw new UpdateRefused(
      `the hub has not signed the update, but ${where} names the key of one that does. A hub of an older version cannot sign: then install its executable here, or delete that key`,
    );
  if (known !== null && key !== known)
    throw new UpdateRefused(
      `the update is signed with key ${fingerprintOf(key)}, but ${where} names ${fingerprintOf(known)}: delete that key only if the hub was really set up anew`,
    );
  if (!isOffer(offer, key, headers.get(PROOF_HEADERS.offer) ?? ""))
    throw new UpdateRefused(
      `the update's signature is wrong: ${offer.version} was changed in transit, or is not what the hub offers now`,
    );
  if (known === null) {
    await pin(dir, key);
    log.warn(
      { key, fingerprint: fingerprintOf(key) },
      "the hub's update key was stored; compare it with flotilla doctor hub",
    );
  }
  return true;
}

/**
 * Checks an archive before any of it is unpacked.
 * @throws UpdateRefused saying what is not proven; then nothing was installed
 */
export async function demandProof(
  dir: string,
  trusted: Trusted,
  fetched: Fetched,
  log: Log,
): Promise<void> {
  const released_at = demandRelease(trusted, fetched);
  if (await demandOffer(dir, trusted, fetched, log)) return;
  const own = trusted.release;
  if (own === null)
    return log.warn(
      { version: fetched.version },
      "nothing proves where this update comes from: this build is unsigned, and its hub, which has an older version, does not sign",
    );
  // An impostor of the hub may have kept an old release.
  if (released_at !== null && released_at < own.released_at)
    throw new UpdateRefused(
      `the sources of ${fetched.version} were released at ${released_at}, before those of this program, and no hub has signed that they should be installed`,
    );
}
