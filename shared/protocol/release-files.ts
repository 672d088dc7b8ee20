/** Names of what a release consists of, and the reading of its checksums. */

/** Checksums of every other file of a release, as `sha256sum` writes them. */
export const SUMS_FILE = "SHA256SUMS";
/** Signature of the checksums (ed25519, 64 bytes). */
export const SIGNATURE_FILE = "SHA256SUMS.sig";
/** `version`, `released` and `name` of a release, a line each. */
export const ABOUT_FILE = "RELEASE";
/** The sources, as workers fetch them. */
export const SOURCE_FILE = "worker-source.tar.gz";

export const tarballName = (name: string, target: string): string =>
  `flotilla-${name}-${target}.tar.gz`;
/** A package of Debian. @param arch Debian's name of it */
export const debName = (name: string, arch: string): string => `flotilla_${name}_${arch}.deb`;

/** What ABOUT_FILE says. */
export interface ReleaseAbout {
  /** Hash of the sources. */
  version: string;
  /** ISO 8601 in UTC, so that dates compare as texts. */
  released_at: string;
  /** What people call it, `0.2.0`; null: of a release that has no packages. */
  name: string | null;
}

export const aboutText = ({ version, released_at, name }: ReleaseAbout): string =>
  `version ${version}\nreleased ${released_at}\n${name === null ? "" : `name ${name}\n`}`;

/** Null: this is no such file. */
export function readAbout(text: string): ReleaseAbout | null {
  const [, version] = /^version ([0-9a-f]{12})$/m.exec(text) ?? [];
  const [, released_at] = /^released (\S{1,40})$/m.exec(text) ?? [];
  // It becomes part of the names of files.
  const [, name] = /^name (\d[0-9A-Za-z.+~-]{0,63})$/m.exec(text) ?? [];
  if (version === undefined || released_at === undefined) return null;
  return { version, released_at, name: name ?? null };
}

/** `<sha256>  <name>` of a file; a star before the name says that it was read as bytes. Null: it is not named. */
export function sumOf(sums: string, file: string): string | null {
  for (const line of sums.split("\n")) {
    const [, sum, name] = /^([0-9a-f]{64}) [ *](.+)$/.exec(line.trim()) ?? [];
    if (sum !== undefined && name === file) return sum;
  }
  return null;
}
