import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { keepsFile, LOCAL_STATE } from "#shared/archive/profile-shape.ts";
import { readTar } from "#shared/archive/read-tar.ts";
import { chunksOf } from "#shared/archive/streams.ts";
import { MAX_PROFILE_ENTRIES } from "#shared/protocol/limits.ts";

/** The hub has judged the archive by its own limits; this one keeps a broken hub from filling the disk. */
const MAX_UNPACKED_BYTES = 64 * 1024 ** 3;

/**
 * Unpacks a normalised profile archive into `user_data`, over the plain profile that lies there. Every entry is
 * checked as on the hub, and nothing is written except below `user_data`, which nobody else has touched.
 * @throws ArchiveError
 */
export async function extractProfile(
  archive: string,
  user_data: string,
  signal: AbortSignal,
): Promise<void> {
  const made = new Set<string>();
  const limits = { max_unpacked_bytes: MAX_UNPACKED_BYTES, max_entries: MAX_PROFILE_ENTRIES };
  for await (const file of readTar(chunksOf(Bun.file(archive).stream()), limits)) {
    signal.throwIfAborted();
    const [top] = file.path;
    if (top !== "Default" && !(top === LOCAL_STATE && file.path.length === 1))
      throw new ArchiveError(`${file.path.join("/")} does not belong to a profile`);
    // Hubs of earlier versions kept more.
    if (top === "Default" && !keepsFile(file.path.slice(1))) continue;
    const path = join(user_data, ...file.path);
    const dir = dirname(path);
    if (!made.has(dir)) await mkdir(dir, { recursive: true, mode: 0o700 });
    made.add(dir);
    const handle = await open(path, "w", 0o600);
    try {
      for await (const chunk of file.body)
        for (let at = 0; at < chunk.byteLength; )
          at += (await handle.write(chunk, at, chunk.byteLength - at)).bytesWritten;
    } finally {
      await handle.close();
    }
  }
}
