import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A key that exists in this process alone, and a certificate that it has signed itself. */
export interface OwnKey {
  /** PEM. */
  key: string;
  cert: string;
  /** SHA-256 of the public key in base64, by which a browser knows certificates of this key as valid for any name. */
  spki_sha256: string;
}

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const GENERALIZED_TIME = 0x18;
/** The field `version` of a certificate. */
const EXPLICIT_0 = 0xa0;

const YEAR_MS = 365 * 86_400_000;

const lengthOf = (n: number): number[] =>
  n < 0x80 ? [n] : n < 0x100 ? [0x81, n] : [0x82, n >> 8, n & 0xff];

/** One value of DER (X.690). */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag, ...lengthOf(body.length)), body]);
}

const timeOf = (ms: number): Buffer =>
  der(GENERALIZED_TIME, Buffer.from(new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "")));

const pemOf = (bytes: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64").replace(/.{1,64}/g, "$&\n")}-----END CERTIFICATE-----\n`;

/** Makes a key of P-256 and its certificate (RFC 5280). It names no host: the browser goes by the key. */
export function makeOwnKey(now: number): OwnKey {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  const ecdsa_with_sha256 = der(SEQUENCE, der(OBJECT_ID, Buffer.from("2a8648ce3d040302", "hex")));
  const common_name = der(OBJECT_ID, Buffer.from("550403", "hex"));
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, common_name, der(UTF8_STRING, Buffer.from("Flotilla replay")))),
  );
  const version_3 = der(EXPLICIT_0, der(INTEGER, Buffer.of(2)));
  const serial = der(INTEGER, Buffer.of(1), randomBytes(15));
  const validity = der(SEQUENCE, timeOf(now - YEAR_MS), timeOf(now + YEAR_MS));
  const fields = [version_3, serial, ecdsa_with_sha256, name, validity, name, spki];
  const to_be_signed = der(SEQUENCE, ...fields);
  const signature = der(BIT_STRING, Buffer.of(0), sign("sha256", to_be_signed, privateKey));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: pemOf(der(SEQUENCE, to_be_signed, ecdsa_with_sha256, signature)),
    spki_sha256: createHash("sha256").update(spki).digest("base64"),
  };
}
