import { createHash } from "node:crypto";
import { embeddedFile } from "#hub/platform/http/embedded-file.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { hashSources, isCompiled, SOURCE_ROOT } from "#shared/protocol/version.ts";
import { packSources } from "./pack-sources.ts";

/** Name under which `scripts/build.ts` puts the archive into the binary. */
export const ARCHIVE_NAME = "worker-source.tar.gz";

async function openSources(version: string): Promise<Uint8Array> {
  if (isCompiled()) {
    const file = embeddedFile(ARCHIVE_NAME);
    if (file === undefined) throw new Error("this binary does not contain the sources");
    return file.bytes();
  }
  // Before packing, which takes ten times as long; and once more of what was packed.
  demandVersion(hashSources(SOURCE_ROOT), version);
  const packed = await packSources(SOURCE_ROOT);
  demandVersion(packed.version, version);
  return packed.archive;
}

function demandVersion(found: string, version: string): void {
  if (found !== version)
    throw new Error(
      `the sources have changed to ${found}, but this hub still runs ${version}: restart it`,
    );
}

export interface WorkerSource {
  archive: Uint8Array;
  etag: string;
  sha256: string;
}

/** How long a refusal is repeated without reading every source again: anybody may ask. */
const REFUSAL_MS = 5_000;

/**
 * The archive of the sources this hub runs (rules/updates#worker-source): out of the binary, or packed from the files at the
 * first call and kept.
 */
export function createWorkerSource(
  version: string,
  clock: Pick<Clock, "monotonic">,
): () => Promise<WorkerSource> {
  let opened: Promise<WorkerSource> | undefined;
  let refused_at: number | null = null;
  const open = async (): Promise<WorkerSource> => {
    const archive = await openSources(version);
    const sha256 = createHash("sha256").update(archive).digest("hex");
    return { archive, sha256, etag: `"${sha256}"` };
  };
  return async () => {
    if (refused_at !== null && clock.monotonic() - refused_at >= REFUSAL_MS) {
      opened = undefined;
      refused_at = null;
    }
    opened ??= open();
    try {
      return await opened;
    } catch (err) {
      refused_at ??= clock.monotonic();
      const reason = errorMessage(err);
      throw new AppError("unavailable", `no worker source: ${reason}`, { cause: err });
    }
  };
}
