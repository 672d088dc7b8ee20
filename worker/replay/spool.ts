import { createHash } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { ReplayError } from "./from-hub.ts";

/** Bodies of one replay on this worker's disk. */
export interface BodySpool {
  /** Path of the whole body, fetched first if it is not here. @throws ReplayError when it cannot be had. */
  fileOf(name: string, size: number): Promise<string>;
}

interface Kept {
  path: string;
  size: number;
}

/**
 * Fetches each body once, into a new file in `dir`. Beyond `max_bytes` those that were not used for longest are
 * removed: one that is needed again is fetched again.
 */
export function createBodySpool({
  dir,
  max_bytes,
  read,
}: {
  dir: string;
  max_bytes: number;
  read(name: string): AsyncIterable<Uint8Array>;
}): BodySpool {
  /** The one that was not used for longest comes first. */
  const kept = new Map<string, Kept>();
  const coming = new Map<string, Promise<Kept>>();

  const makeRoom = async (wanted: number) => {
    let total = wanted + [...kept.values()].reduce((sum, { size }) => sum + size, 0);
    for (const [name, { path, size }] of [...kept]) {
      if (total <= max_bytes) return;
      kept.delete(name);
      total -= size;
      await rm(path, { force: true });
    }
  };
  const fetchBody = async (name: string, size: number): Promise<Kept> => {
    if (size > max_bytes)
      throw new ReplayError(`it has ${size} bytes, and this worker keeps ${max_bytes} at most`);
    await makeRoom(size);
    // Without an ending: a file's type is that of the capture, not of its name.
    const path = join(dir, createHash("sha256").update(name).digest("hex"));
    await write(path, size, read(name));
    const entry = { path, size };
    kept.set(name, entry);
    return entry;
  };
  return {
    fileOf: async (name, size) => {
      const here = kept.get(name);
      if (here) {
        kept.delete(name);
        kept.set(name, here);
        return here.path;
      }
      const fetching = coming.get(name) ?? fetchBody(name, size).finally(() => coming.delete(name));
      coming.set(name, fetching);
      return (await fetching).path;
    },
  };
}

async function write(path: string, size: number, body: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, "w", 0o600);
  let written = 0;
  try {
    for await (const chunk of body) {
      if (written + chunk.byteLength > size) throw new ReplayError("it is longer than it was");
      for (let at = 0; at < chunk.byteLength; ) {
        const { bytesWritten } = await file.write(chunk, at, chunk.byteLength - at);
        at += bytesWritten;
      }
      written += chunk.byteLength;
    }
  } finally {
    await file.close();
  }
  if (written !== size) throw new ReplayError("it is shorter than it was");
}
