import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import type { EnvSource } from "#shared/kit/env.ts";
import type { LogTarget } from "../log-format.ts";
import { wantsColours } from "./colours.ts";

/**
 * Finds out what reads the file descriptor. systemd sets JOURNAL_STREAM to the device and inode of what it connected to
 * the journal (systemd.exec(5)); a child process may have inherited the variable while it writes to a file.
 */
export function logTarget(fd: number, env: EnvSource): LogTarget {
  const terminal = isatty(fd);
  return {
    terminal,
    colours: wantsColours(terminal, env),
    journal: isJournal(fd, env.JOURNAL_STREAM),
  };
}

function isJournal(fd: number, stream: string | undefined): boolean {
  if (stream === undefined) return false;
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}
