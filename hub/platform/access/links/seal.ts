import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { sameSecret } from "#shared/kit/secret.ts";
import type { LinkKind } from "#shared/protocol/schema/signed-link.ts";

/** What a signed link opens, and until when. */
export interface LinkGrant {
  readonly kind: LinkKind;
  /** Id of the session or the job. */
  readonly id: string;
  /** For kind `asset`, the one asset; null for all assets of the job. */
  readonly name: string | null;
  readonly mode: "view" | "take-over";
  /** Epoch ms. */
  readonly expires_at: number;
  /** Id of the token with which the link was made, and with which it ends. Null: made without one. */
  readonly token_id: string | null;
}

/** The keys that are derived from the one secret that all hubs share. */
export interface LinkKeys {
  readonly sealing: Buffer;
  readonly signing: Buffer;
}

const IV_BYTES = 16;
/** Longer than any link that is made: an asset's name is at most 180 bytes. */
const MAX_LINK = 1_024;
const LINK = /^([A-Za-z0-9_-]{1,900})\.([A-Za-z0-9_-]{43})$/;

export function linkKeys(secret: Uint8Array): LinkKeys {
  const derive = (label: string) =>
    Buffer.from(hkdfSync("sha256", secret, "", `flotilla link ${label} v1`, 32));
  return { sealing: derive("encryption"), signing: derive("signature") };
}

const sign = ({ signing }: LinkKeys, sealed: string): string =>
  createHmac("sha256", signing).update(sealed).digest("base64url");

/**
 * The grant as text for a URL, encrypted and then signed (AES-256-CTR, HMAC-SHA256): a session's id is itself the key to
 * its viewer, so someone who may only watch must not be able to read it from the link.
 */
export function sealLink(keys: LinkKeys, grant: LinkGrant): string {
  const { kind, id, name, mode, expires_at, token_id } = grant;
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-ctr", keys.sealing, iv);
  const text = JSON.stringify([kind, id, name, mode, expires_at, token_id]);
  const sealed = Buffer.concat([iv, cipher.update(text), cipher.final()]).toString("base64url");
  return `${sealed}.${sign(keys, sealed)}`;
}

export const looksSealed = (text: string): boolean => text.length <= MAX_LINK && LINK.test(text);

/** Null for anything that was not sealed with these keys. */
export function openSealed(keys: LinkKeys, text: string): LinkGrant | null {
  if (!looksSealed(text)) return null;
  const [, sealed, signature] = LINK.exec(text) ?? [];
  if (sealed === undefined || signature === undefined) return null;
  if (!sameSecret(signature, sign(keys, sealed))) return null;
  const bytes = Buffer.from(sealed, "base64url");
  const decipher = createDecipheriv("aes-256-ctr", keys.sealing, bytes.subarray(0, IV_BYTES));
  const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES)), decipher.final()]);
  // Links of versions that did not store the token have none.
  const [kind, id, name, mode, expires_at, token_id = null] = JSON.parse(plain.toString());
  return { kind, id, name, mode, expires_at, token_id };
}
