import { AppError, type Issue } from "#shared/errors.ts";
import type { JobOptions } from "#shared/schema/job.ts";

/** Options of the contract that this version cannot honour: refused after every rule of §2.2, never ignored. */
const REFUSED = ["codegen_engine"] as const satisfies (keyof JobOptions)[];

/** @throws AppError invalid naming each such field. */
export function refuseUnsupported(options: JobOptions): void {
  const fields: string[] = REFUSED.filter((name) => options[name] !== null);
  if (options.mode !== "fetch") fields.unshift("mode");
  if (fields.length === 0) return;
  throw new AppError(
    "invalid",
    fields.map(
      (field): Issue => ({
        loc: ["body", "options", field],
        msg: "is not supported by this version",
        type: "unsupported",
      }),
    ),
  );
}
