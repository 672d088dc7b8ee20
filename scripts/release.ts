import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packSources } from "#hub/fleet/update/pack-sources.ts";
import { ARCHIVE_NAME } from "#hub/fleet/update/worker-source.ts";
import { buildBinary, ROOT } from "./build.ts";

/**
 * Makes what is published of a version below `dist/release`: the executable, the sources as workers fetch them, RELEASE
 * (version and time), SHA256SUMS of the three, its signature (ed25519, 64 bytes), and the public key.
 */
export async function makeRelease(key_file: string, to = join(ROOT, "dist/release")) {
  const private_pem = readFileSync(key_file, "utf8");
  const released_at = new Date().toISOString();
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const version = await buildBinary(join(to, "flotilla"), { private_pem, released_at });
  const { archive } = await packSources(ROOT);
  writeFileSync(join(to, ARCHIVE_NAME), archive);
  writeFileSync(join(to, "RELEASE"), `version ${version}\nreleased ${released_at}\n`);
  signSums(to, ["flotilla", ARCHIVE_NAME, "RELEASE"], private_pem);
  return { version, released_at, dir: to };
}

/** Writes SHA256SUMS of these files of `dir`, SHA256SUMS.sig and release.pub. */
export function signSums(dir: string, files: readonly string[], private_pem: string): void {
  const line = (name: string) => {
    const hash = createHash("sha256").update(readFileSync(join(dir, name)));
    return `${hash.digest("hex")}  ${name}\n`;
  };
  const sums = files.map(line).join("");
  const key = createPrivateKey(private_pem);
  writeFileSync(join(dir, "SHA256SUMS"), sums);
  writeFileSync(join(dir, "SHA256SUMS.sig"), sign(null, Buffer.from(sums), key));
  const public_pem = createPublicKey(private_pem).export({ type: "spki", format: "pem" });
  writeFileSync(join(dir, "release.pub"), public_pem);
}

if (import.meta.main) {
  const file = process.argv[2] ?? process.env.FLOTILLA_RELEASE_KEY;
  if (!file) {
    console.error(
      "release: name the file of the release key; openssl genpkey -algorithm ed25519 -out release.key makes one",
    );
    process.exit(2);
  }
  const { version, dir } = await makeRelease(file);
  console.log(`${dir}: ${version}, signed`);
}
