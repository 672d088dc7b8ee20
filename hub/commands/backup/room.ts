import { statfs } from "node:fs/promises";
import { humanSize } from "#shared/names.ts";
import { CommandRefused } from "../refused.ts";

/** @throws CommandRefused when `bytes` do not fit into the file system of `dir`. */
export async function demandRoom(dir: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  const free = bavail * bsize;
  if (bytes > free)
    throw new CommandRefused(
      `${dir}: the disk is full: ${humanSize(bytes)} are needed, ${humanSize(free)} are free`,
    );
}
