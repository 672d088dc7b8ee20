import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packSources } from "#hub/fleet/update/pack-sources.ts";
import {
  ABOUT_FILE,
  aboutText,
  SIGNATURE_FILE,
  SOURCE_FILE,
  SUMS_FILE,
} from "#shared/protocol/release-files.ts";
import { type BuildOutput, buildBinaries, ROOT } from "./build.ts";
import { readSections } from "./packaging/changelog.ts";
import { packDeb } from "./packaging/deb.ts";
import { containerfile } from "./packaging/image.ts";
import { installScript } from "./packaging/install-script.ts";
import { lockedPackages } from "./packaging/locked-packages.ts";
import { thirdPartyNotices } from "./packaging/notices.ts";
import { type ReleaseOrder, readOrder, UsageError } from "./packaging/order.ts";
import { writeSbom } from "./packaging/sbom.ts";
import type { Packed } from "./packaging/stage.ts";
import { releaseTag } from "./packaging/tagged.ts";
import { packTarball } from "./packaging/tarball.ts";
import { buildTarget, fetchRuntimes, type ReleaseTarget } from "./packaging/targets.ts";

/** What is published of a version beside its packages, which somebody verifies by hand or serves to workers. */
const PLAIN = "flotilla";
const NOTES_FILE = "NOTES.md";
const IMAGE_FILE = "Containerfile";
const INSTALL_FILE = "install.sh";

/**
 * Makes what is published of a version: an executable for this machine, archives and Debian's packages for each target,
 * the sources as workers fetch them, install.sh, a Containerfile, what it is made of (CycloneDX), notes, RELEASE (version,
 * time and name), SHA256SUMS of all of them, its signature (ed25519, 64 bytes), and the public key.
 */
export async function makeRelease(order: ReleaseOrder) {
  const { name, released_at, targets, to } = order;
  const private_pem = readFileSync(order.key_file, "utf8");
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), "flotilla-packages-"));
  try {
    if (targets.length > 0) await fetchRuntimes();
    const executable = (target: ReleaseTarget) => join(scratch, target.name, "flotilla");
    const plain: BuildOutput = { outfile: join(to, PLAIN), target: null };
    const outputs = targets.map((target) => ({
      outfile: executable(target),
      target: buildTarget(target),
    }));
    const signed = { private_pem, released_at, url: order.url };
    const version = await buildBinaries([plain, ...outputs], signed);
    // Who debugs a release builds it.
    rmSync(join(to, `${PLAIN}.map`), { force: true });
    const files = [PLAIN, ...(await writePlainFiles(order, version, private_pem))];
    const notices = readFileSync(join(to, "THIRD-PARTY-NOTICES"), "utf8");
    for (const target of targets) {
      const packed = { name, released_at, executable: executable(target), notices };
      files.push(...(await packTarget(packed, target, order, scratch)));
      rmSync(join(scratch, target.name), { recursive: true });
    }
    signSums(to, files, private_pem);
    return { version, released_at, dir: to, files };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Everything that no target is needed for. @returns the names */
async function writePlainFiles(order: ReleaseOrder, version: string, private_pem: string) {
  const { name, released_at, to, url } = order;
  const bun = Bun.version;
  const packages = await lockedPackages(ROOT);
  const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  const sections = readSections(changelog);
  const section = sections.find((each) => each.name === name) ?? sections[0];
  const texts: Record<string, string | Uint8Array> = {
    [SOURCE_FILE]: (await packSources(ROOT)).archive,
    [ABOUT_FILE]: aboutText({ version, released_at, name }),
    [NOTES_FILE]: `# Flotilla ${name}\n\n${section?.text ?? ""}\n`,
    [INSTALL_FILE]: await installScript({ name, url, public_pem: publicPem(private_pem) }),
    [IMAGE_FILE]: await containerfile(name),
    [`flotilla-${name}.cdx.json`]: await writeSbom({ name, version, released_at, bun, packages }),
    "THIRD-PARTY-NOTICES": thirdPartyNotices(packages, bun),
  };
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(to, file), text);
  return Object.keys(texts);
}

async function packTarget(
  packed: Packed,
  target: ReleaseTarget,
  { to, maintainer }: ReleaseOrder,
  scratch: string,
): Promise<string[]> {
  const dir = (kind: string) => {
    const path = join(scratch, `${kind}-${target.name}`);
    mkdirSync(path);
    return path;
  };
  const files = [await packTarball(packed, target.name, to, dir("tar"))];
  if (target.deb !== null)
    files.push(await packDeb(packed, { arch: target.deb, maintainer }, to, dir("deb")));
  for (const kind of ["tar", "deb"])
    rmSync(join(scratch, `${kind}-${target.name}`), { recursive: true, force: true });
  return files;
}

const publicPem = (private_pem: string): string =>
  createPublicKey(createPrivateKey(private_pem)).export({ type: "spki", format: "pem" }).toString();

/** Writes SHA256SUMS of these files of `dir`, SHA256SUMS.sig and release.pub. */
export function signSums(dir: string, files: readonly string[], private_pem: string): void {
  const line = (name: string) => {
    const hash = createHash("sha256").update(readFileSync(join(dir, name)));
    return `${hash.digest("hex")}  ${name}\n`;
  };
  const sums = files.map(line).join("");
  const key = createPrivateKey(private_pem);
  writeFileSync(join(dir, SUMS_FILE), sums);
  writeFileSync(join(dir, SIGNATURE_FILE), sign(null, Buffer.from(sums), key));
  writeFileSync(join(dir, "release.pub"), publicPem(private_pem));
}

if (import.meta.main)
  try {
    const asked = readOrder(process.argv.slice(2), process.env);
    if (asked.tag !== null) await releaseTag({ ...asked, tag: asked.tag });
    else {
      const { version, dir, files } = await makeRelease(asked.order);
      console.log(`${dir}: ${asked.order.name}, version ${version}, signed: ${files.join(", ")}`);
    }
  } catch (err) {
    console.error(err instanceof Error ? err.message : err);
    process.exit(err instanceof UsageError ? 2 : 1);
  }
