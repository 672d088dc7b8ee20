import { conflict, invalid } from "#shared/kit/errors.ts";

/** Where nothing narrows the filter, the caller says how many it may be. @throws AppError invalid */
export function checkNarrowed(is_narrowed: boolean, at_most: number | undefined): void {
  if (!is_narrowed && at_most === undefined)
    throw invalid(
      ["body", "at_most"],
      "without a filter this means all of them: say how many it may be, as a call with dry_run counts them",
    );
}

/** Before the first is changed. @throws AppError conflict */
export function checkNumber(matched: number, at_most: number): void {
  if (matched > at_most)
    throw conflict(
      `the filter finds ${matched}, and at_most allows ${at_most}: nothing is changed; ask again with dry_run`,
    );
}
