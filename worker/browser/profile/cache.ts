import { createHash } from "node:crypto";
import { chmod, mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { DeadlineError } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { ProfileRef } from "#shared/protocol/schema/profile.ts";
import { type HubFiles, hubFilesHttp } from "#worker/hub-files.ts";

/** An attempt is given up when no byte arrives for this long. */
const STALL_MS = 30_000;
const TRIES = 3;
const RETRY_MS = 500;

/** The profile is not available; the message goes into the job's error. */
export class ProfileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ProfileError";
  }
}

export interface ProfileCacheDeps {
  dir: string;
  max_bytes: number;
  clock: Clock;
  log: Log;
}

/** Archives of profiles on this worker's disk, by version. */
export interface ProfileCache {
  /**
   * Calls `work` with the archive's path, fetched from the hub if it is missing; it stays while `work` runs.
   * @throws ProfileError
   */
  use<T>(
    ref: ProfileRef,
    hub: HubFiles,
    signal: AbortSignal,
    work: (path: string) => Promise<T>,
  ): Promise<T>;
  /** Forgets a version whose file turned out to be damaged. */
  drop(ref: ProfileRef): Promise<void>;
  /** Profiles of which a version is cached, for the heartbeat. */
  names(): string[];
}

const FILE = /^([a-z0-9_-]{1,64})\.([0-9a-f]{64})\.tar\.gz$/;
const fileOf = ({ name, sha256 }: ProfileRef) => `${name}.${sha256}.tar.gz`;

interface Kept {
  size: number;
  used_at: number;
  users: number;
}

/**
 * Opens the cache in `dir`, which is this worker's alone; beyond `max_bytes`, the least recently used archives are
 * removed.
 */
export async function openProfileCache({
  dir,
  max_bytes,
  clock,
  log,
}: ProfileCacheDeps): Promise<ProfileCache> {
  await mkdir(dir, { recursive: true });
  // These are people's logins: only this account may read them.
  await chmod(dir, 0o700);
  const kept = await keptIn(dir);
  const coming = new Map<string, Promise<void>>();
  let parts = 0;

  const makeRoom = async () => {
    let total = [...kept.values()].reduce((sum, entry) => sum + entry.size, 0);
    const oldest = [...kept].sort(([, a], [, b]) => a.used_at - b.used_at);
    for (const [file, entry] of oldest) {
      if (total <= max_bytes) return;
      if (entry.users > 0) continue;
      kept.delete(file);
      total -= entry.size;
      await rm(join(dir, file), { force: true });
    }
  };
  const fetchFile = async (ref: ProfileRef, hub: HubFiles, signal: AbortSignal) => {
    const file = fileOf(ref);
    parts += 1;
    const part = join(dir, `${parts}.part`);
    try {
      const since = clock.monotonic();
      await download(ref, hub, part, clock, signal);
      await rename(part, join(dir, file));
      kept.set(file, { size: ref.size, used_at: clock.now(), users: 0 });
      log.info(
        { profile: ref.name, size: ref.size, ms: clock.monotonic() - since },
        "profile fetched",
      );
    } finally {
      await rm(part, { force: true });
    }
  };

  return {
    use: async (ref, hub, signal, work) => {
      const file = fileOf(ref);
      while (!kept.has(file)) {
        signal.throwIfAborted();
        const own = coming.get(file);
        // Another run's attempt may fail for reasons of its own, such as being cancelled.
        if (own !== undefined) {
          await own.catch(() => {});
          continue;
        }
        const fetching = fetchFile(ref, hub, signal).finally(() => coming.delete(file));
        coming.set(file, fetching);
        await fetching;
      }
      const entry = kept.get(file);
      if (!entry) throw new ProfileError(`profile ${ref.name} was dropped`);
      entry.users += 1;
      entry.used_at = clock.now();
      try {
        await makeRoom();
        const now = new Date(entry.used_at);
        await utimes(join(dir, file), now, now).catch(() => {});
        return await work(join(dir, file));
      } finally {
        entry.users -= 1;
        await makeRoom();
      }
    },
    drop: async (ref) => {
      kept.delete(fileOf(ref));
      await rm(join(dir, fileOf(ref)), { force: true });
    },
    names: () => [...new Set([...kept.keys()].map((file) => file.split(".")[0] ?? ""))].sort(),
  };
}

/** The archives in `dir`; whatever else lies there is removed. */
async function keptIn(dir: string): Promise<Map<string, Kept>> {
  const kept = new Map<string, Kept>();
  for (const file of await readdir(dir)) {
    const found = FILE.test(file) ? await stat(join(dir, file)) : null;
    if (found) kept.set(file, { size: found.size, used_at: found.mtimeMs, users: 0 });
    else await rm(join(dir, file), { recursive: true, force: true });
  }
  return kept;
}

/** Streams the archive into the new file `path`, with retries after network errors. @throws ProfileError */
async function download(
  ref: ProfileRef,
  hub: HubFiles,
  path: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await downloadOnce(ref, hub, path, clock, signal);
    } catch (err) {
      signal.throwIfAborted();
      if (err instanceof ProfileError) throw err;
      if (tries === TRIES)
        throw new ProfileError(`profile ${ref.name} could not be fetched: ${errorMessage(err)}`);
      await clock.sleep(RETRY_MS * 2 ** tries, signal);
    }
  }
}

async function downloadOnce(
  ref: ProfileRef,
  hub: HubFiles,
  path: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const attempt = new AbortController();
  let size = 0;
  const watch = async () => {
    for (let seen = -1; !over.signal.aborted && seen !== size; ) {
      seen = size;
      await clock.sleep(STALL_MS, over.signal);
    }
    if (!over.signal.aborted) attempt.abort(new DeadlineError("the profile's download", STALL_MS));
  };
  const handle = await open(path, "w", 0o600);
  try {
    void watch();
    const archive = await openArchive(ref, hub, AbortSignal.any([signal, attempt.signal]));
    const hash = createHash("sha256");
    for await (const chunk of archive) {
      size += chunk.byteLength;
      if (size > ref.size) throw new Error("the archive is longer than announced");
      hash.update(chunk);
      for (let at = 0; at < chunk.byteLength; )
        at += (await handle.write(chunk, at, chunk.byteLength - at)).bytesWritten;
    }
    if (hash.digest("hex") !== ref.sha256) throw new Error("the archive came damaged");
  } finally {
    over.abort();
    await handle.close();
  }
}

/** @throws ProfileError when the hub has it no more. */
async function openArchive(
  { name, sha256 }: ProfileRef,
  hub: HubFiles,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const operation = "GET /workers/{worker_id}/profiles/{name}/{sha256}";
  const params = { worker_id: hub.worker_id, name, sha256 };
  try {
    const http = await hubFilesHttp(hub);
    const { body } = await http.open(operation, { params, signal, timeout_ms: STALL_MS });
    if (body === null) throw new Error("the hub sent no archive");
    return body;
  } catch (err) {
    if (err instanceof FlotillaError && err.status === 404)
      throw new ProfileError(`profile ${name} no longer exists`);
    throw err;
  }
}
