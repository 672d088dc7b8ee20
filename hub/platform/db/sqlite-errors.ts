import { accessSync, constants, existsSync, unlinkSync, writeFileSync } from "node:fs";
import { AppError, errorMessage } from "#shared/kit/errors.ts";

/** The driver's code of an error, "" when it has none. */
export const codeOf = (err: unknown): string =>
  err instanceof Error && "code" in err ? String(err.code) : "";

/** Error codes of a file system for a write that cannot be done now. */
const CANNOT_WRITE: Record<string, string> = {
  ENOSPC: "the disk of the database is full",
  EDQUOT: "the disk of the database is full",
  EROFS: "the database is read-only",
  EACCES: "the database may not be written to",
  EPERM: "the database may not be written to",
  EIO: "the disk of the database is broken",
};

/**
 * Why nothing can be written to the database that is open at `file`: SQLite says "disk I/O error" to all of it. Null
 * where the file system gives no reason.
 */
function whyNotWritten(file: string): string | null {
  const probe = `${file}-probe`;
  try {
    // Never opened here: a process that closes a file gives up the locks that SQLite holds on it in that process.
    for (const path of [file, `${file}-wal`].filter((at) => existsSync(at)))
      accessSync(path, constants.W_OK);
    // A file system that went read-only after an error still calls its files writable (ext4, seen with Linux 6.18).
    writeFileSync(probe, "a database that cannot be written to was looked at\n");
    unlinkSync(probe);
    return null;
  } catch (err) {
    return CANNOT_WRITE[codeOf(err)] ?? null;
  }
}

/**
 * `unavailable`, with what an operator must fix, when the database cannot serve now; else null.
 * @param file the database's path; null for one in memory
 */
export function toUnavailable(err: unknown, file: string | null): AppError | null {
  const code = codeOf(err);
  const unavailable = (words: string) => new AppError("unavailable", words, { cause: err });
  if (code === "SQLITE_FULL") return unavailable("the disk of the database is full");
  if (code === "SQLITE_READONLY_DBMOVED")
    return unavailable(
      "the database was moved, or something was mounted over it, while it was open: put it back, or restart the hub",
    );
  if (!/^SQLITE_(BUSY|LOCKED|IOERR|CANTOPEN|READONLY)/.test(code)) return null;
  const may_say_why = file !== null && !/^SQLITE_(BUSY|LOCKED)/.test(code);
  const why = may_say_why ? whyNotWritten(file) : null;
  return unavailable(why ?? `the database cannot be used: ${errorMessage(err)}`);
}
