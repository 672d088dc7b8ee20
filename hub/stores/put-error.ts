import { AppError, conflict } from "#shared/errors.ts";

/** The system's code of an error, "" when it has none. */
export const codeOf = (err: unknown): string =>
  err instanceof Error && "code" in err ? String(err.code) : "";

/** What the caller of a put is told for a failure of the file system. */
export function toPutError(err: unknown, key: string): unknown {
  const code = codeOf(err);
  if (code === "ENOSPC" || code === "EDQUOT")
    return new AppError("unavailable", "the disk of the object store is full", { cause: err });
  if (["EISDIR", "ENOTDIR", "EEXIST", "ENOTEMPTY"].includes(code))
    return conflict(`object key ${key} lies above or below another object`);
  return err;
}
