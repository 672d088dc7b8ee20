import { ArchiveError } from "#shared/archive/archive-error.ts";
import { AppError } from "#shared/kit/errors.ts";

/**
 * What to tell whoever sent an archive that was refused while it was stored. The store cannot tell who ended a body, so
 * what ended it is the cause of its error. Any other error stays as it is.
 */
export function archiveRefusal(err: unknown): unknown {
  const refusal = err instanceof AppError ? (err.cause ?? err) : err;
  if (!(refusal instanceof ArchiveError)) return err;
  const { message, too_large } = refusal;
  return new AppError(
    too_large ? "too_large" : "invalid",
    too_large ? message : [{ loc: ["body"], msg: message, type: "bad_archive" }],
    { cause: refusal },
  );
}
