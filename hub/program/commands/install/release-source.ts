import { copyFile, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";

import { limitText } from "#shared/kit/words.ts";
import {
  ABOUT_FILE,
  type ReleaseAbout,
  readAbout,
  SIGNATURE_FILE,
  SUMS_FILE,
  sumOf,
} from "#shared/protocol/release-files.ts";
import { isSigned } from "#shared/protocol/update-proof.ts";
import { download } from "#worker/program/update/download.ts";
import { CommandRefused } from "../refused.ts";
import { hashFile } from "./system-files.ts";

/** The files of a release beside each other: at an address, or in a directory. */

const MAX_LIST_BYTES = 64 * 1_024;
const MAX_ARCHIVE_BYTES = 500_000_000;
/** 150 kB/s of an archive of 70 MB. */
const ARCHIVE_MS = 1_800_000;

export interface ReleaseSource {
  from: string;
  /** An empty directory of the caller's. */
  scratch: string;
}

async function copyIn(path: string, to: string, max_bytes: number): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (!found?.isFile()) throw new CommandRefused(`${path} does not exist`);
  if (found.size > max_bytes)
    throw new CommandRefused(`${path} is larger than ${limitText(max_bytes)}, the maximum`);
  await copyFile(path, to);
}

/** @returns where it is now */
async function fetchFile(
  { from, scratch }: ReleaseSource,
  name: string,
  max_bytes: number,
): Promise<string> {
  const to = join(scratch, name);
  await rm(to, { force: true });
  if (!/^https?:\/\//.test(from)) await copyIn(join(from, name), to, max_bytes);
  else {
    const signal = new AbortController().signal;
    const url = `${from.replace(/\/+$/, "")}/${encodeURIComponent(name)}`;
    await download(
      { clock: systemClock, signal, get: fetch },
      { url, to, max_bytes, deadline_ms: ARCHIVE_MS },
    );
  }
  return to;
}

export interface SignedRelease extends ReleaseAbout {
  name: string;
  sums: string;
}

/**
 * What the release says of itself. @param key the public key that its checksums must be signed with, in base64url
 * @throws CommandRefused
 */
export async function readRelease(source: ReleaseSource, key: string): Promise<SignedRelease> {
  const sums = await readFile(await fetchFile(source, SUMS_FILE, MAX_LIST_BYTES));
  const signature = await readFile(await fetchFile(source, SIGNATURE_FILE, MAX_LIST_BYTES));
  if (!isSigned(sums, key, signature.toString("base64url")))
    throw new CommandRefused(`${SUMS_FILE} of ${source.from} is not signed with the release key`);
  const text = sums.toString();
  const about = await readFile(
    await fetchVerified(source, text, ABOUT_FILE, MAX_LIST_BYTES),
    "utf8",
  );
  const read = readAbout(about);
  if (read === null || read.name === null)
    throw new CommandRefused(`the release at ${source.from} has no executables`);
  return { version: read.version, released_at: read.released_at, name: read.name, sums: text };
}

/** The file, whose checksum is the one of the signed list. @throws CommandRefused */
export async function fetchVerified(
  source: ReleaseSource,
  sums: string,
  name: string,
  max_bytes = MAX_ARCHIVE_BYTES,
): Promise<string> {
  const wanted = sumOf(sums, name);
  if (wanted === null) throw new CommandRefused(`the release at ${source.from} has no ${name}`);
  const file = await fetchFile(source, name, max_bytes);
  const found = await hashFile(file);
  if (found === wanted) return file;
  throw new CommandRefused(
    `${name} has the checksum ${found}, but the signed list says ${wanted}: nothing was changed`,
  );
}
