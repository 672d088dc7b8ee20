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
 * removed: one that is needed again is fetched again. What comes at the same time waits for its room.
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

  const room = createRoom(max_bytes, kept);
  const fetchBody = async (name: string, size: number): Promise<Kept> => {
    if (size > max_bytes)
      throw new ReplayError(`it has ${size} bytes, and this worker keeps ${max_bytes} at most`);
    await room.take(size);
    // Without an ending: a file's type is that of the capture, not of its name.
    const path = join(dir, createHash("sha256").update(name).digest("hex"));
    try {
      await write(path, size, read(name));
      const entry = { path, size };
      kept.set(name, entry);
      return entry;
    } catch (err) {
      await rm(path, { force: true });
      throw err;
    } finally {
      room.giveBack(size);
    }
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

/** The room for bodies that are kept, and for those on their way, which count with all that they will have. */
function createRoom(max_bytes: number, kept: Map<string, Kept>) {
  let taken = 0;
  let freed = Promise.withResolvers<void>();
  let turn: Promise<void> = Promise.resolve();
  const take = async (size: number): Promise<void> => {
    while (taken + size > max_bytes) {
      await freed.promise;
      // Whoever waited for that body opens its file now, before it makes room for this one.
      await new Promise<void>((opened) => setImmediate(opened));
    }
    let total = taken + size + [...kept.values()].reduce((sum, one) => sum + one.size, 0);
    taken += size;
    for (const [name, { path, size: of_one }] of [...kept]) {
      if (total <= max_bytes) return;
      kept.delete(name);
      total -= of_one;
      await rm(path, { force: true });
    }
  };
  return {
    /** Waits until so much is free, removing what was not used for longest. The first to ask gets it first. */
    take: (size: number): Promise<void> => {
      const mine = turn.then(() => take(size));
      turn = mine.catch(() => {});
      return mine;
    },
    /** The body is kept by now, or was not to be had. */
    giveBack: (size: number): void => {
      taken -= size;
      freed.resolve();
      freed = Promise.withResolvers();
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
