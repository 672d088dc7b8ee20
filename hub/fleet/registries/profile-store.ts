import { createShapeFinder, normalPath, type ProfileBase } from "#shared/archive/profile-shape.ts";
import { type ArchiveFile, type ArchiveLimits, readTar } from "#shared/archive/read-tar.ts";
import { chunksOf, streamOf } from "#shared/archive/streams.ts";
import { writeTarGz } from "#shared/archive/write-tar.ts";
import { AppError, notFound } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { MAX_PROFILE_ENTRIES, PROFILE_UNPACK_FACTOR } from "#shared/protocol/limits.ts";
import type { Profile } from "#shared/protocol/schema/profile.ts";
import { archiveRefusal } from "../archive/archive-refusal.ts";
import type { FleetContext } from "../context.ts";
import { beginWriting } from "./profile-writers.ts";
import { profileKey, profileRecord } from "./profiles.ts";
import { screenArchive } from "./screen-archive.ts";

/** Archives on their way in; the next start removes what a crash leaves there. */
export const INCOMING = "incoming";

interface ProfileUpload {
  body: ReadableStream<Uint8Array>;
  /** As announced by the sender. */
  size: number | undefined;
  signal: AbortSignal;
}

/**
 * Stores an archive as the profile `name`, for its writer (rules/profiles#hostile-archives). Its headers are counted as it
 * comes in. The first pass judges every entry and finds the profile, the second writes it anew with Default/ and Local State
 * alone; only then one statement makes it current, so nothing is stored of an archive that is refused. The version before it
 * stays for runs that were just given it (`sweepProfiles`).
 * @throws AppError too_large, or invalid naming the entry that is refused.
 */
export async function storeProfile(
  ctx: Pick<FleetContext, "config" | "profile_archives" | "clock" | "db" | "log">,
  name: string,
  { body, size, signal }: ProfileUpload,
): Promise<Profile> {
  const max_bytes = ctx.config.max_profile_bytes;
  const raw = `${INCOMING}/${newToken()}`;
  const normal = `${INCOMING}/${newToken()}`;
  try {
    if (size !== undefined && size > max_bytes) {
      await body.cancel();
      throw new AppError("too_large", `profile is larger than ${max_bytes} bytes`);
    }
    await ctx.profile_archives.put(raw, streamOf(screenArchive(chunksOf(body), limitsOf(ctx))), {
      max_bytes,
      signal,
      ...(size === undefined ? {} : { size }),
    });
    const found = await inspect(ctx, raw, signal);
    const tally = { files: 0 };
    const files = normalFiles(ctx, raw, found.base, tally);
    const archive = await ctx.profile_archives.put(normal, streamOf(writeTarGz(files)), { signal });
    const key = profileKey(name, archive.sha256);
    await ctx.profile_archives.put(key, await readObject(ctx, normal), { ...archive, signal });
    const now = ctx.clock.now();
    const row = await ctx.db.profiles.put({
      name,
      size: archive.size,
      files: tally.files,
      sha256: archive.sha256,
      source_browser: found.source_browser,
      created_at: now,
      updated_at: now,
    });
    ctx.log.info({ name, size: row.size, files: row.files, sha256: row.sha256 }, "profile stored");
    return profileRecord(row);
  } catch (err) {
    if (signal.aborted) throw new AppError("unavailable", "the upload was stopped", { cause: err });
    throw archiveRefusal(err);
  } finally {
    await Promise.all([ctx.profile_archives.delete(raw), ctx.profile_archives.delete(normal)]);
  }
}

/** Deletes a profile with its archives. @throws AppError not_found, conflict while it is being written. */
export async function deleteProfile(
  ctx: Pick<FleetContext, "clock" | "db" | "hub_id" | "kv" | "log" | "objects" | "profile_writers">,
  name: string,
): Promise<void> {
  const done = await beginWriting(ctx, name, "delete");
  try {
    if (!(await ctx.db.profiles.delete(name))) throw notFound("profile");
    await ctx.objects.deletePrefix(`profiles/p-${name}`);
    ctx.log.info({ name }, "profile deleted");
  } finally {
    await done();
  }
}

async function readObject(
  ctx: Pick<FleetContext, "profile_archives">,
  key: string,
): Promise<ReadableStream<Uint8Array>> {
  const stream = await ctx.profile_archives.read(key);
  if (!stream) throw new Error(`object ${key} is gone`);
  return stream;
}

const limitsOf = ({ config }: Pick<FleetContext, "config">): ArchiveLimits => ({
  max_unpacked_bytes: config.max_profile_bytes * PROFILE_UNPACK_FACTOR,
  max_entries: MAX_PROFILE_ENTRIES,
});

async function* filesOf(
  ctx: Pick<FleetContext, "profile_archives" | "config">,
  key: string,
): AsyncGenerator<ArchiveFile> {
  yield* readTar(chunksOf(await readObject(ctx, key)), limitsOf(ctx));
}

interface Found {
  base: ProfileBase;
  source_browser: string | null;
}

/** The first pass: every entry judged, the profile found. */
async function inspect(
  ctx: Pick<FleetContext, "profile_archives" | "config">,
  key: string,
  signal: AbortSignal,
): Promise<Found> {
  const shape = createShapeFinder();
  let source_browser: string | null = null;
  for await (const file of filesOf(ctx, key)) {
    signal.throwIfAborted();
    shape.see(file.path);
    // Chromium writes its version into its user-data directory.
    if (file.path.join("/") === "Last Version" && file.size < 100)
      source_browser = versionIn(await textOf(file));
  }
  return { base: shape.find(), source_browser };
}

async function textOf(file: ArchiveFile): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of file.body) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

const versionIn = (text: string): string | null => {
  const version = /^[0-9]{1,5}(\.[0-9]{1,6}){1,3}$/.exec(text.trim())?.[0];
  return version === undefined ? null : `Chrome/${version}`;
};

/** The second pass: the files that are kept, where a user-data directory has them. */
async function* normalFiles(
  ctx: Pick<FleetContext, "profile_archives" | "config">,
  key: string,
  base: ProfileBase,
  tally: { files: number },
): AsyncGenerator<ArchiveFile> {
  for await (const file of filesOf(ctx, key)) {
    const path = normalPath(base, file.path);
    if (path === null) continue;
    tally.files += 1;
    yield { ...file, path };
  }
}
