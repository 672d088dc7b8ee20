import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { replaceFile } from "#shared/kit/replace-file.ts";

/**
 * The version that a worker runs, and the outcome of others: `versions/state.json` in its data directory. Programs of
 * different versions read it, so a field may be added but never change its meaning.
 */
export const UpdateState = z.object({
  /** Version of the program itself when this was written: with another program, all of it is void. */
  base: z.string(),
  /** The staged version to run; null: the program's own. */
  current: z.string().nullable(),
  /** The version that ran before, for a rollback; null: the program's own. */
  previous: z.string().nullable(),
  /** How often `current` was started without a handshake; null once it had one. */
  attempts: z.number().int().nullable(),
  /** The version that failed here; not tried again before the hub offers another one. */
  bad: z.object({ version: z.string(), reason: z.string(), at: z.string() }).nullable(),
  /** Checksum of the release that was checked last. */
  release: z.string().nullable().default(null),
});
export type UpdateState = z.infer<typeof UpdateState>;

/** In the directory of versions. */
export const UPDATE_STATE_FILE = "state.json";

/** Below the worker's data directory. */
export const versionsDir = (data_dir: string): string => join(data_dir, "versions");

export const firstState = (base: string): UpdateState => ({
  base,
  current: null,
  previous: null,
  attempts: null,
  bad: null,
  release: null,
});

/** The saved state, or the initial one if there is no file, or it belongs to another program or is damaged. */
export async function readState(dir: string, base: string, log: Log): Promise<UpdateState> {
  const text = await readFile(join(dir, UPDATE_STATE_FILE), "utf8").catch(() => null);
  if (text === null) return firstState(base);
  try {
    const state = UpdateState.parse(JSON.parse(text));
    return state.base === base ? state : firstState(base);
  } catch (err) {
    log.warn({ dir, err: errorMessage(err) }, "could not read the state of updates");
    return firstState(base);
  }
}

export async function writeState(dir: string, state: UpdateState): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await replaceFile(join(dir, UPDATE_STATE_FILE), JSON.stringify(state));
}
