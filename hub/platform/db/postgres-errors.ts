import { DeadlineError } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";

/** The driver's codes (CONNECTION_…), the system's (E…) and the server's SQLSTATEs for a database that cannot serve now. */
const LOST =
  /^(CONNECTION_|CONNECT_TIMEOUT|ECONN|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|EHOST|ENET|ENOENT|08|53|57P|57014|55P03|25006|25P0[34]|40001|40P01)/;

/** The code of a driver error, even inside the error that a query builder wraps around it; "" when there is none. */
export function errorCode(err: unknown): string {
  for (let inner = err; inner instanceof Error; inner = inner.cause)
    if ("code" in inner && typeof inner.code === "string") return inner.code;
  return "";
}

/** Whether a statement for many rows failed because of one of them, or because of the order in which it locked them. */
export const isOfOneRow = (err: unknown): boolean => /^(22|23|40P01)/.test(errorCode(err));

/** The innermost message, because wrappers repeat the statement and its parameters, which must not leak. */
function innerMessage(err: unknown): string {
  let inner = err;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return errorMessage(inner);
}

/** `unavailable` when the server is away, refuses, is full or does not answer in time; else null. */
export function toUnavailable(err: unknown): AppError | null {
  const code = errorCode(err);
  if (code === "53100")
    return new AppError("unavailable", "the disk of the database is full", { cause: err });
  if (!(err instanceof DeadlineError) && !LOST.test(code)) return null;
  return new AppError("unavailable", `the database is not available: ${innerMessage(err)}`, {
    cause: err,
  });
}
