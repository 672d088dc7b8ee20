import { join } from "node:path";
import { moveSpooled, removeSpooled } from "./body.ts";
import type { Entry, FailedUpload } from "./entry.ts";
import type { UploadEnd } from "./put.ts";

/** What ended since the previous flush, so that each failure is reported once. */
export interface Flushed {
  stored: number;
  bytes: number;
  failed: FailedUpload[];
}

/** What became of the bodies of one job. */
export interface Tally {
  begin(entry: Entry): void;
  /** The body is stored or given up: its file or memory is freed. */
  settle(entry: Entry, end: UploadEnd): Promise<void>;
  /** What ended since the last call. */
  take(): Flushed;
  /** Bodies that are neither stored nor given up. */
  left(): { count: number; bytes: number };
  /** Moves those bodies to another directory on the same disk. @throws the file system's error. */
  moveTo(dir: string): void;
}

/** What counts the uploads of all jobs. */
export interface UploadWatch {
  begun(bytes: number, is_document: boolean): void;
  ended(bytes: number, is_stored: boolean): void;
}

/** @param onStop called when nothing more of this job will be accepted */
export function createTally(onStop: (reason: string) => void, watch?: UploadWatch): Tally {
  const open = new Set<Entry>();
  let ended: Flushed = { stored: 0, bytes: 0, failed: [] };
  return {
    begin: (entry) => {
      open.add(entry);
      watch?.begun(entry.upload.size, entry.was === "document");
    },
    settle: async (entry, end) => {
      open.delete(entry);
      watch?.ended(entry.upload.size, end.kind === "stored");
      if (end.kind === "stored") {
        ended.stored += 1;
        ended.bytes += entry.upload.size;
      } else {
        ended.failed.push({ name: entry.name, reason: end.reason, was: entry.was });
        if (end.kind === "stop") onStop(end.reason);
      }
      if (entry.spooled.bytes) entry.spooled.free?.();
      else await removeSpooled(entry.spooled.path, entry.upload.size);
    },
    take: () => {
      const taken = ended;
      ended = { stored: 0, bytes: 0, failed: [] };
      return taken;
    },
    left: () => ({
      count: open.size,
      bytes: [...open].reduce((sum, { upload }) => sum + upload.size, 0),
    }),
    moveTo: (dir) => {
      let count = 0;
      for (const { spooled } of open) moveSpooled(spooled, join(dir, String(++count)));
    },
  };
}
