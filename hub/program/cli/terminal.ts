import { writeSync } from "node:fs";
import { withPriority } from "../log-format.ts";
import type { Terminal } from "./print.ts";

interface Stream {
  fd: number;
  isTTY?: boolean;
  columns?: number;
}

const codeOf = (err: unknown): unknown => (err instanceof Error && "code" in err ? err.code : null);

/**
 * Writes all of `text` before it returns. Bun 1.4.5 calls the callback of a stream's write before a slow pipe took
 * everything, so a process that exits then loses what is left: 3 MB into a pipe ended after 64 KB.
 */
function writeAll(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (err) {
      // The reader has left (`| head`), so nobody would see an error.
      if (codeOf(err) === "EPIPE") return;
      if (codeOf(err) !== "EAGAIN") throw err;
      Bun.sleepSync(5);
    }
  }
}

/** Refusals and failures begin with the program's name; all other lines are information. */
const forJournal = (text: string): string =>
  withPriority(text, text.startsWith("flotilla: ") ? "error" : "info");

/**
 * The process's own streams as the client commands see them. A terminal that does not know its width reports 0.
 * @param journal standard error is read by systemd's journal
 */
export const systemTerminal = (stdout: Stream, stderr: Stream, journal: boolean): Terminal => ({
  out: (text) => writeAll(stdout.fd, text),
  err: (text) => writeAll(stderr.fd, journal ? forJournal(text) : text),
  width: stdout.isTTY ? stdout.columns || 80 : null,
  live: stderr.isTTY === true,
  liveWidth: stderr.columns || 80,
});
