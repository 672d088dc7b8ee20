import { AppError, errorMessage } from "#shared/errors.ts";
import { isCompiled, SOURCE_ROOT } from "#shared/version.ts";
import { type PackedSources, packSources } from "./pack-sources.ts";

/** Name under which `scripts/build.ts` puts the archive into the binary. */
export const ARCHIVE_NAME = "worker-source.tar.gz";

/** Bun puts a hash into the names of the files it embeds. */
const EMBEDDED = /(^|\/)worker-source\.tar(-[a-z0-9]+)?\.gz$/;

async function openSources(version: string): Promise<Uint8Array> {
  if (isCompiled()) {
    // What Bun types as Blob has a name.
    const embedded = Bun.embeddedFiles as readonly (Blob & { name: string })[];
    const file = embedded.find(({ name }) => EMBEDDED.test(name));
    if (file === undefined) throw new Error("the sources are not part of this binary");
    return file.bytes();
  }
  const packed: PackedSources = await packSources(SOURCE_ROOT);
  if (packed.version !== version)
    throw new Error(
      `the sources are ${packed.version} by now and this hub runs ${version}: start it again`,
    );
  return packed.archive;
}

/**
 * The archive of the sources this hub runs (fleet spec §4.3): out of the binary, or packed from the files at the first
 * call and kept.
 */
export function createWorkerSource(version: string): () => Promise<Uint8Array> {
  let opened: Promise<Uint8Array> | undefined;
  return async () => {
    opened ??= openSources(version);
    try {
      return await opened;
    } catch (err) {
      opened = undefined;
      const reason = errorMessage(err);
      throw new AppError("unavailable", `no worker source: ${reason}`, { cause: err });
    }
  };
}
