import { createHash, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";

/**
 * What proves that a version should be installed (ed25519). Two signatures, each over a text of lines: a release's, by
 * the key that was built into the program, says what the sources of a version are; an offer's, by the key of the
 * installation, says that its hub gives this archive to this very worker now. Neither can be used for the other, nor an
 * offer a second time.
 */

/** Headers of GET /worker-source.tar.gz?for=NONCE. Keys and signatures in base64url. */
export const PROOF_HEADERS = {
  key: "x-flotilla-update-key",
  offer: "x-flotilla-update-signature",
  released_at: "x-flotilla-released-at",
  release: "x-flotilla-release-signature",
} as const;

export const NONCE = /^[A-Za-z0-9_-]{16,64}$/;

export interface Offer {
  /** What the worker sent: random, once. */
  nonce: string;
  version: string;
  /** SHA-256 of the archive, in hex. */
  sha256: string;
}

export interface Release {
  version: string;
  /** ISO 8601 in UTC, so that dates compare as texts. */
  released_at: string;
  sha256: string;
}

const offerText = ({ nonce, version, sha256 }: Offer): Buffer =>
  Buffer.from(["flotilla update 1", nonce, version, sha256, ""].join("\n"));

const releaseText = ({ version, released_at, sha256 }: Release): Buffer =>
  Buffer.from(["flotilla release 1", version, released_at, sha256, ""].join("\n"));

/** The 32 bytes of a public key in base64url. @param pem of the private or the public key */
export function publicKeyOf(pem: string): string {
  const { kty, crv, x } = createPublicKey(pem).export({ format: "jwk" });
  if (kty !== "OKP" || crv !== "Ed25519" || x === undefined)
    throw new Error("is not an ed25519 key");
  return x;
}

export const isPublicKey = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);

/** The form in which people compare keys: 16 hex digits of its hash. */
export const fingerprintOf = (key: string): string =>
  createHash("sha256").update(Buffer.from(key, "base64url")).digest("hex").slice(0, 16);

const signText = (text: Uint8Array, private_pem: string): string =>
  sign(null, text, createPrivateKey(private_pem)).toString("base64url");

/** Whether `signature` (base64url) is of these bytes by `key` (base64url); false for a malformed key or signature. */
export function isSigned(text: Uint8Array, key: string, signature: string): boolean {
  if (!isPublicKey(key)) return false;
  try {
    const public_key = createPublicKey({
      key: { kty: "OKP", crv: "Ed25519", x: key },
      format: "jwk",
    });
    return verify(null, text, public_key, Buffer.from(signature, "base64url"));
  } catch {
    return false;
  }
}

export const signOffer = (offer: Offer, pem: string): string => signText(offerText(offer), pem);
export const isOffer = (offer: Offer, key: string, signature: string): boolean =>
  isSigned(offerText(offer), key, signature);

export const signRelease = (release: Release, pem: string): string =>
  signText(releaseText(release), pem);
export const isRelease = (release: Release, key: string, signature: string): boolean =>
  isSigned(releaseText(release), key, signature);
