import { generateKeyPairSync } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aboutText } from "#shared/protocol/release-files.ts";
import { packDeb } from "../../../scripts/packaging/deb.ts";
import type { Packed } from "../../../scripts/packaging/stage.ts";
import { packTarball } from "../../../scripts/packaging/tarball.ts";
import { TARGETS } from "../../../scripts/packaging/targets.ts";
import { signSums } from "../../../scripts/release.ts";

/** Releases with a stand-in for the executable: all of a release but the minutes that its builds take. */

export const newReleaseKey = (): string =>
  generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();

export interface StandIn {
  name: string;
  /** What its executable answers to --version. */
  version: string;
  released_at: string;
  private_pem: string;
  /** Another executable than one that only says its version, packed for this kind of machine alone. */
  executable?: string;
  /** Debian's package as well. */
  deb?: boolean;
}

/** An executable that says what `--version` says of a build, and keeps what else it was asked. */
export function writeStandIn(file: string, version: string): void {
  writeFileSync(file, `#!/bin/sh\n[ "$1" = --version ] && echo "flotilla ${version}"\n`);
  chmodSync(file, 0o755);
}

/**
 * Writes another version that works: `program`, the executable of version `from`, with the version `to` in its place.
 * @throws Error when the versions differ in length: the executable finds what it holds by its offsets.
 */
export function writeOtherVersion(file: string, program: string, from: string, to: string): void {
  if (from.length !== to.length) throw new Error(`${to} is not as long as ${from}`);
  const text = readFileSync(program, "latin1").replaceAll(from, to);
  writeFileSync(file, text, { encoding: "latin1" });
  chmodSync(file, 0o755);
}

/** Writes the release into `dir`: archives of every target, RELEASE, signed checksums and release.pub. */
export async function writeRelease(dir: string, stand_in: StandIn): Promise<string[]> {
  const { name, version, released_at, private_pem, deb = false } = stand_in;
  mkdirSync(dir, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), "flotilla-packed-"));
  const tree = () => mkdtempSync(join(scratch, "tree-"));
  const executable = stand_in.executable ?? join(scratch, "flotilla");
  if (stand_in.executable === undefined) writeStandIn(executable, version);
  const packed: Packed = { name, released_at, executable, notices: "None.\n" };
  const files = ["RELEASE"];
  writeFileSync(join(dir, "RELEASE"), aboutText({ version, released_at, name }));
  // Packing a real one takes its time.
  const of_this = TARGETS.filter(({ arch }) => arch === process.arch);
  for (const target of stand_in.executable === undefined ? TARGETS : of_this)
    files.push(await packTarball(packed, target.name, dir, tree()));
  const maintainer = "Somebody <somebody@example.org>";
  if (deb) files.push(await packDeb(packed, { arch: "amd64", maintainer }, dir, tree()));
  rmSync(scratch, { recursive: true });
  signSums(dir, files, private_pem);
  return files;
}
