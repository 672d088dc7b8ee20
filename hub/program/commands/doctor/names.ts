import { spellOrigin } from "../../variables/describe.ts";
import { secrecyOf } from "../../variables/known.ts";
import { unknownNames } from "../../variables/unknown.ts";
import type { GatheredVariables } from "../../variables/variable-sources.ts";
import { type Check, fail, ok, warn } from "./check.ts";

/**
 * Checks for unknown variables that look like ours and for names that cannot be passed on; says where each secret was
 * found.
 */
export function checkNames(gathered: GatheredVariables): Check {
  const name = "variables";
  const { warnings, refusals } = unknownNames(gathered);
  if (refusals.length > 0)
    return fail(
      name,
      refusals.join("; "),
      "nothing starts with this: correct the name or unset it",
    );
  if (warnings.length > 0)
    return warn(name, warnings.join("; "), "correct the name or unset it: flotilla config show");
  return ok(name, ["every name is known", ...secretsOf(gathered)].join("; "));
}

const secretsOf = ({ origins }: GatheredVariables): string[] =>
  [...origins]
    .filter(([name]) => secrecyOf(name) === "whole")
    .map(([name, origin]) => `${name} from ${spellOrigin(origin)}`)
    .sort();
