import { appendFile, open, rm } from "node:fs/promises";
import { framesOf } from "#shared/recording/frames.ts";

/** The recording of one run on this worker's disk, from where it is sent as often as the hub asks for it. */
export interface RunFile {
  readonly path: string;
  /** Bytes so far, with those that are not on the disk yet. */
  readonly bytes: number;
  /** Never waits. */
  write(frame: Uint8Array): void;
  /** Whole frames from `offset` on, which must be where a frame begins; empty at the end. @throws the file system's error */
  read(offset: number): Promise<Uint8Array>;
  /** Never rejects. */
  remove(): Promise<void>;
}

/** What is read and sent at a time; a frame is far shorter. */
const PIECE_BYTES = 4 * 1024 * 1024;

export function createRunFile(path: string): RunFile {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  let on_disk = 0;
  const flush = async () => {
    if (waiting.length === 0) return;
    const all = Buffer.concat(waiting);
    waiting = [];
    await appendFile(path, all, { mode: 0o600 });
    on_disk += all.length;
  };
  return {
    path,
    get bytes() {
      return bytes;
    },
    write: (frame) => {
      waiting.push(frame);
      bytes += frame.length;
    },
    read: async (offset) => {
      await flush();
      const length = Math.min(PIECE_BYTES, on_disk - offset);
      if (length <= 0) return new Uint8Array(0);
      const file = await open(path);
      try {
        const piece = new Uint8Array(length);
        const { bytesRead } = await file.read(piece, 0, length, offset);
        return wholeFrames(piece.subarray(0, bytesRead));
      } finally {
        await file.close();
      }
    },
    remove: () => rm(path, { force: true }).catch(() => {}),
  };
}

function wholeFrames(piece: Uint8Array): Uint8Array {
  let length = 0;
  for (const frame of framesOf(piece)) length += frame.length;
  return piece.subarray(0, length);
}
