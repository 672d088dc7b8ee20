import { appendFile, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { createTurns } from "#shared/kit/turns.ts";
import { framesOf } from "#shared/recording/frames.ts";
import type { RecordingIndex } from "#shared/recording/index-of.ts";

/** What a hub has of a recording beyond the sealed parts: a file of whole frames that grows. */
export interface OpenPart {
  readonly run_id: string;
  readonly worker_id: string;
  /** Where it begins in the recording; as many bytes are sealed. */
  base: number;
  bytes: number;
  /** Where each sealed part ends. */
  parts: number[];
  /** Of the recording, with this part. */
  contents: RecordingIndex;
  /** When bytes came last (monotonic ms). */
  appended_at: number;
}

/** The recordings that workers send to this hub now. */
export interface OpenParts {
  readonly dir: string;
  readonly by_run: Map<string, OpenPart>;
  /** One piece of work at a time for each run. */
  readonly inTurn: <T>(run_id: string, work: () => Promise<T>) => Promise<T>;
}

export const openParts = (data_dir: string): OpenParts => ({
  dir: join(data_dir, "recordings"),
  by_run: new Map(),
  inTurn: createTurns<string>(),
});

const SUFFIX = ".part";
const fileOf = ({ dir }: OpenParts, { run_id, base }: Pick<OpenPart, "run_id" | "base">) =>
  join(dir, `${run_id}.${base}${SUFFIX}`);

/** @throws the file system's error; then the file may hold a part of `bytes`. */
export async function appendToPart(
  parts: OpenParts,
  part: OpenPart,
  bytes: Uint8Array,
): Promise<void> {
  if (part.bytes === 0) await mkdir(parts.dir, { recursive: true, mode: 0o700 });
  await appendFile(fileOf(parts, part), bytes, { mode: 0o600 });
}

/** Somebody has removed the file of a part, or what stood in it. */
export class PartGone extends Error {
  override readonly name = "PartGone";
}

/** Its bytes, without what an append that failed may have left. @throws PartGone, or the file system's error */
export async function readPart(parts: OpenParts, part: OpenPart): Promise<Uint8Array> {
  if (part.bytes === 0) return new Uint8Array(0);
  const bytes = await readFile(fileOf(parts, part)).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== "ENOENT") throw err;
    return new Uint8Array(0);
  });
  if (bytes.length < part.bytes) throw new PartGone(`${part.bytes - bytes.length} bytes are gone`);
  return bytes.subarray(0, part.bytes);
}

export const removePart = (
  parts: OpenParts,
  part: Pick<OpenPart, "run_id" | "base">,
): Promise<void> => rm(fileOf(parts, part), { force: true });

/** A part that an earlier process left, with its whole frames. */
export interface LeftPart {
  run_id: string;
  base: number;
  bytes: Uint8Array;
}

/** Parts on this hub's disk that nobody adds to. A name or a beginning that is none of a part's is passed over. */
export async function* leftParts(parts: OpenParts): AsyncGenerator<LeftPart> {
  const names = await readdir(parts.dir).catch((): string[] => []);
  for (const name of names) {
    const [, run_id, base] = /^([\w-]+)\.(\d+)\.part$/.exec(name) ?? [];
    if (run_id === undefined || parts.by_run.has(run_id)) continue;
    // Its worker may be back, and the file gone: then all of it is sent again.
    const all = await readFile(join(parts.dir, name)).catch(() => null);
    if (all === null) continue;
    yield { run_id, base: Number(base), bytes: all.subarray(0, wholeLength(all)) };
  }
}

/** The process may have died while it wrote the last frame. */
function wholeLength(bytes: Uint8Array): number {
  let length = 0;
  try {
    for (const frame of framesOf(bytes)) length += frame.length;
  } catch {
    // What follows is of no use, and what came before it is whole.
  }
  return length;
}
