import { existsSync } from "node:fs";
import { readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { restoreJournal } from "#hub/platform/db/sqlite-restore-mark.ts";
import { replaceFile } from "#shared/kit/replace-file.ts";
import { syncPath } from "#shared/kit/sync-path.ts";

/** One file or directory to exchange: what is at `target` goes to `aside`, and `staged` (if any) takes its place. */
const Move = z.object({ target: z.string(), staged: z.string().nullable(), aside: z.string() });
export type Move = z.infer<typeof Move>;
const Journal = z.object({ backup: z.string(), moves: z.array(Move) });
export type Journal = z.infer<typeof Journal>;

/** The unfinished swap of `database`; null when there is none. */
export async function readJournal(database: string): Promise<Journal | null> {
  const path = restoreJournal(database);
  if (!existsSync(path)) return null;
  return Journal.parse(JSON.parse(await readFile(path, "utf8")));
}

/**
 * Puts the staged data into place. Every step can be repeated, and the journal stays until all are done: a swap that
 * was interrupted is finished by the next call, and until then no hub opens the database.
 */
export async function swap(database: string, journal: Journal): Promise<void> {
  const path = restoreJournal(database);
  if (!existsSync(path)) await replaceFile(path, JSON.stringify(journal));
  for (const { target, staged, aside } of journal.moves) {
    const waiting = staged === null ? !existsSync(aside) : existsSync(staged);
    if (waiting && existsSync(target)) await rename(target, aside);
    if (staged !== null && existsSync(staged)) await rename(staged, target);
    await syncPath(dirname(target));
  }
  await rm(path);
  await syncPath(dirname(path));
}
