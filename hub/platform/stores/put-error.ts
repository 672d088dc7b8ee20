import { AppError, conflict } from "#shared/kit/errors.ts";

/** The system's code of an error, "" when it has none. */
export const codeOf = (err: unknown): string =>
  err instanceof Error && "code" in err ? String(err.code) : "";

/** Codes of a store that takes nothing now, whatever is put: the caller tries again later, and an operator fixes it. */
const CANNOT_WRITE: Record<string, string> = {
  ENOSPC: "the disk of the object store is full",
  EDQUOT: "the disk of the object store is full",
  EROFS: "the object store is read-only",
  EACCES: "the object store may not be written to",
  EPERM: "the object store may not be written to",
  EIO: "the disk of the object store is broken",
};

/** The error that the caller of a put gets for a failure of the file system. */
export function toPutError(err: unknown, key: string): unknown {
  const code = codeOf(err);
  const why = CANNOT_WRITE[code];
  if (why !== undefined) return new AppError("unavailable", why, { cause: err });
  if (["EISDIR", "ENOTDIR", "EEXIST", "ENOTEMPTY"].includes(code))
    return conflict(`object key ${key} lies above or below another object`);
  return err;
}

export const isMissing = (err: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(codeOf(err));
