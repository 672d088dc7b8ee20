import { writeSync } from "node:fs";
import type { EnvSource } from "#shared/kit/env.ts";
import { withPriority } from "../log-format.ts";
import { wantsColours } from "./colours.ts";
import type { Terminal } from "./print.ts";

interface Stream {
  fd: number;
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

const codeOf = (err: unknown): unknown => (err instanceof Error && "code" in err ? err.code : null);

/**
 * Writes all of `data` before it returns. Bun 1.4.5 calls the callback of a stream's write before a slow pipe took
 * everything, so a process that exits then loses what is left: 3 MB into a pipe ended after 64 KB.
 */
function writeAll(fd: number, data: string | Uint8Array, onGone: () => void = () => {}): void {
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (err) {
      // The reader has left (`| head`), so nobody would see an error.
      if (codeOf(err) === "EPIPE") {
        onGone();
        return;
      }
      if (codeOf(err) !== "EAGAIN") throw err;
      Bun.sleepSync(5);
    }
  }
}

/** Refusals and failures begin with the program's name; all other lines are information. */
const forJournal = (text: string): string =>
  withPriority(text, text.startsWith("flotilla: ") ? "error" : "info");

/** Standard input where it is a keyboard. */
interface Keyboard {
  isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
  on(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  off(event: "data", listener: (bytes: Uint8Array) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** Tells keys until the returned function is called; there is none where nobody types. */
function keysOf(stdin: Keyboard): Terminal["onKey"] {
  if (stdin.isTTY !== true || stdin.setRawMode === undefined) return undefined;
  return (listen) => {
    const heard = (bytes: Uint8Array) => listen(new TextDecoder().decode(bytes));
    stdin.setRawMode?.(true);
    stdin.on("data", heard);
    stdin.resume();
    return () => {
      stdin.off("data", heard);
      stdin.setRawMode?.(false);
      stdin.pause();
    };
  };
}

interface Streams {
  stdin: Keyboard;
  stdout: Stream;
  stderr: Stream;
}

/**
 * The process's own streams as the client commands see them. A terminal that does not know its width reports 0, and it may
 * change while the command runs.
 * @param journal standard error is read by systemd's journal
 * @param onGone whoever read standard output has left
 */
export const systemTerminal = (
  { stdin, stdout, stderr }: Streams,
  journal: boolean,
  env: EnvSource,
  onGone?: () => void,
): Terminal => ({
  out: (text) => writeAll(stdout.fd, text, onGone),
  err: (text) => writeAll(stderr.fd, journal ? forJournal(text) : text),
  get width() {
    return stdout.isTTY ? stdout.columns || 80 : null;
  },
  get height() {
    return stdout.isTTY ? stdout.rows || 24 : null;
  },
  colours: wantsColours(stdout.isTTY === true, env),
  live: stderr.isTTY === true,
  get liveWidth() {
    return stderr.columns || 80;
  },
  onKey: keysOf(stdin),
});
