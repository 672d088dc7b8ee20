import { createHash } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { z } from "zod";
import { abortAfter, type Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import type { BuiltRelease } from "#shared/protocol/release.ts";
import {
  ABOUT_FILE,
  SIGNATURE_FILE,
  SOURCE_FILE,
  SUMS_FILE,
  sumOf,
} from "#shared/protocol/release-files.ts";
import { isSigned } from "#shared/protocol/update-proof.ts";
import { download } from "./download.ts";
import { downloadPath, MAX_ARCHIVE_BYTES, UpdateRefused, versionInside } from "./stage.ts";
import { readState, writeState } from "./state.ts";
import type { Updater } from "./updater.ts";

const GITHUB = "https://api.github.com/repos/";
const MAX_SUMS_BYTES = 64 * 1024;
/** Of the list of a release. */
const LIST_MS = 30_000;
/** Looks are spread over the interval plus or minus this part of it. */
const JITTER = 0.2;

/** The part of `GET {repo}/releases/latest` that is read. */
const Release = z.object({
  tag_name: z.string().default(""),
  assets: z.array(z.object({ name: z.string(), browser_download_url: z.string() })).max(1_000),
});

export interface FeedDeps {
  /** SVC_CODEHOST_REPO: `owner/name`, or an address. */
  repo: string;
  every_ms: number;
  dir: string;
  base: string;
  updater: Updater;
  /** Null: an unsigned build. */
  trusted: Pick<BuiltRelease, "key" | "released_at"> | null;
  clock: Clock;
  random: () => number;
  log: Log;
}

/** The address below which `releases/latest` is. */
const feedUrl = (repo: string): string =>
  /^https?:\/\//.test(repo) ? repo.replace(/\/+$/, "") : GITHUB + repo;

async function latestRelease(deps: FeedDeps, signal: AbortSignal) {
  const url = `${feedUrl(deps.repo)}/releases/latest`;
  const done = new AbortController();
  const late = abortAfter(deps.clock, LIST_MS, done.signal);
  try {
    const answer = await fetch(url, {
      signal: AbortSignal.any([late, signal]),
      headers: { Accept: "application/json" },
    });
    if (!answer.ok) throw new UpdateRefused(`${url} answered ${answer.status}`);
    return Release.parse(await answer.json());
  } finally {
    done.abort();
  }
}

const assetUrl = ({ assets, tag_name }: z.output<typeof Release>, name: string): string => {
  const asset = assets.find((a) => a.name === name);
  if (!asset) throw new UpdateRefused(`release ${tag_name} has no ${name}`);
  return asset.browser_download_url;
};

function demandSum(text: string, file: string): string {
  const sum = sumOf(text, file);
  if (sum === null) throw new UpdateRefused(`${SUMS_FILE} does not name ${file}`);
  return sum;
}

/**
 * The checksums must be signed with the release key that the program was built with, and the release be no older than it.
 * @throws UpdateRefused
 */
async function demandSigned(
  { trusted, log }: FeedDeps,
  sums: Buffer,
  read: (name: string) => Promise<Buffer>,
): Promise<void> {
  if (trusted === null)
    return log.warn({}, "this build is unsigned: releases are verified only by their checksums");
  const { key, released_at } = trusted;
  const signature = (await read(SIGNATURE_FILE)).toString("base64url");
  if (!isSigned(sums, key, signature))
    throw new UpdateRefused(`${SUMS_FILE} is not signed with the built-in release key`);
  const about = await read(ABOUT_FILE);
  if (createHash("sha256").update(about).digest("hex") !== demandSum(sums.toString(), ABOUT_FILE))
    throw new UpdateRefused(`${ABOUT_FILE} does not match ${SUMS_FILE}`);
  const [, found = ""] = /^released (\S+)$/m.exec(about.toString()) ?? [];
  if (found < released_at)
    throw new UpdateRefused(`the release is of ${found}, before this program's (${released_at})`);
}

/** Checks the feed once; skips a release that was checked before. */
export async function checkFeedOnce(deps: FeedDeps, signal: AbortSignal): Promise<void> {
  const { dir, base, log, clock, updater } = deps;
  const release = await latestRelease(deps, signal);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const file = downloadPath(dir);
  try {
    const read = async (name: string): Promise<Buffer> => {
      const url = assetUrl(release, name);
      await download({ clock, signal, get: fetch }, { url, to: file, max_bytes: MAX_SUMS_BYTES });
      const bytes = await readFile(file);
      await rm(file, { force: true });
      return bytes;
    };
    const sums = await read(SUMS_FILE);
    const expected = demandSum(sums.toString(), SOURCE_FILE);
    if ((await readState(dir, base, log)).release === expected) return;
    await demandSigned(deps, sums, read);
    const url = assetUrl(release, SOURCE_FILE);
    const { sha256: sum } = await download(
      { clock, signal, get: fetch },
      { url, to: file, max_bytes: MAX_ARCHIVE_BYTES },
    );
    if (sum !== expected)
      throw new UpdateRefused(
        `${SOURCE_FILE} has the checksum ${sum}, ${SUMS_FILE} says ${expected}`,
      );
    const version = await versionInside(file);
    const state = await readState(dir, base, log);
    await writeState(dir, { ...state, release: expected });
    log.info({ release: release.tag_name, version }, "release found");
    await updater.install(version, file);
  } finally {
    await rm(file, { force: true });
  }
}

/**
 * Checks for releases periodically, for workers whose hub has offered no version for that long (SVC_CODEHOST_REPO,
 * rules/updates#release-feed).
 */
export function startReleaseFeed(deps: FeedDeps): { stop(): Promise<void> } {
  const { every_ms, clock, random, log, updater } = deps;
  const fromHub = () => {
    const at = updater.offered_at();
    return at !== null && clock.monotonic() - at < every_ms;
  };
  return startLoop({
    name: "release feed",
    everyMs: 0,
    clock,
    log,
    pass: async (signal) => {
      await clock.sleep(every_ms * (1 - JITTER + 2 * JITTER * random()), signal);
      if (signal.aborted || fromHub()) return;
      await checkFeedOnce(deps, signal).catch((err) => {
        if (!signal.aborted)
          log.error({ reason: errorMessage(err) }, "could not install a release");
      });
    },
  });
}
