import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { writeBody } from "./fs-write.ts";
import type { PutResult, SmallObject } from "./objects.ts";
import { toPutError } from "./put-error.ts";

/** What a batch uses of the store on disk. */
export interface BatchDisk {
  /** A path for a body on its way. */
  path(): string;
  pathOf(key: string): string;
  move(from: string, to: string): Promise<void>;
  syncPlaced(dir: string): Promise<void>;
}

/** One object of the batch on its way: `failed` once it will not be stored. */
interface Piece {
  object: SmallObject;
  temp: string;
  target: string;
  failed: { error: unknown } | null;
}

/**
 * As `ObjectStore.putMany`. The bodies go to disk in parallel, so the file system's journal takes many with one write,
 * and each directory is synced once for all of them.
 */
export async function putBatch(
  disk: BatchDisk,
  objects: SmallObject[],
  confirm: () => Promise<void> = async () => {},
): Promise<PutResult[]> {
  const pieces = objects.map(
    (object): Piece => ({ object, temp: disk.path(), target: "", failed: null }),
  );
  const each = async (step: (piece: Piece) => Promise<void>): Promise<void> => {
    const doStep = async (piece: Piece) => {
      try {
        await step(piece);
      } catch (err) {
        piece.failed = { error: toPutError(err, piece.object.key) };
        await rm(piece.temp, { force: true }).catch(() => {});
      }
    };
    await Promise.all(pieces.filter((piece) => !piece.failed).map(doStep));
  };

  await each(async (piece) => {
    const { key, body, size, sha256 } = piece.object;
    piece.target = disk.pathOf(key);
    await writeBody(piece.temp, body, { size, sha256 });
  });
  try {
    await confirm();
  } catch (err) {
    await Promise.all(pieces.map((piece) => rm(piece.temp, { force: true })));
    throw err;
  }
  await each((piece) => disk.move(piece.temp, piece.target));
  const dirs = new Set(pieces.filter((p) => !p.failed).map((piece) => dirname(piece.target)));
  await Promise.all([...dirs].map((dir) => disk.syncPlaced(dir)));
  return pieces.map(
    ({ failed, object: { size, sha256 } }): PutResult => failed ?? { size, sha256 },
  );
}
