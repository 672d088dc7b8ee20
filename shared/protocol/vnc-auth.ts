import { createCipheriv, createDecipheriv } from "node:crypto";
import { newToken } from "#shared/protocol/ids.ts";

/**
 * VncAuth (RFC 6143 §7.2.2): DES with a password of at most eight characters, whose bits the protocol reads in the other
 * order. Nobody can read the password off a connection or try all passwords over one, which is all it must achieve
 * here, on loopback.
 */

const CHARACTERS = 8;
const BLOCK = 8;
export const CHALLENGE_BYTES = 16;
/** The key with which VNC programs make a password file unreadable at a glance. It is public. */
const FILE_KEY = Buffer.from([23, 82, 107, 6, 35, 78, 88, 7]);

/** A password with 48 random bits. */
export const newVncSecret = (): string => newToken().slice(0, CHARACTERS);

function reversedBits(byte: number): number {
  let reversed = 0;
  for (let bit = 0; bit < 8; bit += 1) reversed |= ((byte >> bit) & 1) << (7 - bit);
  return reversed;
}

function encrypted(key: Buffer, plain: Buffer): Buffer {
  const cipher = createCipheriv("des-ecb", Buffer.from(key.map(reversedBits)), null);
  cipher.setAutoPadding(false);
  return Buffer.concat([cipher.update(plain), cipher.final()]);
}

const keyOf = (secret: string): Buffer => {
  const key = Buffer.alloc(BLOCK);
  key.write(secret, "latin1");
  return key;
};

/** A client's answer to a server's challenge. */
export const answerTo = (challenge: Buffer, secret: string): Buffer =>
  encrypted(keyOf(secret), challenge);

/** The secret of a password file. */
export function secretIn(file: Uint8Array): string {
  const decipher = createDecipheriv("des-ecb", Buffer.from(FILE_KEY.map(reversedBits)), null);
  decipher.setAutoPadding(false);
  const plain = Buffer.concat([decipher.update(file), decipher.final()]);
  return plain.toString("latin1").replace(/\0+$/, "");
}

/** A secret in the form of the file that a VNC server reads. */
export const passwordFile = (secret: string): Buffer => encrypted(FILE_KEY, keyOf(secret));
