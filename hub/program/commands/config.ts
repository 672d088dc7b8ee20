import { ConfigError } from "#shared/kit/env.ts";
import { EXIT, UsageError } from "../cli/exit.ts";
import { MODES, type Mode } from "../cli/flags.ts";
import { formatTable } from "../cli/print.ts";
import { describeVariables, spellOrigin, type VariableLine } from "../variables/describe.ts";
import { gatherConfig, judgeConfig } from "../variables/load.ts";
import { unknownNames } from "../variables/unknown.ts";
import type { GatheredVariables } from "../variables/variable-sources.ts";
import type { CommandDeps } from "./migrate.ts";

/** What a mode would find wrong with its variables, and what it would warn about when it starts. */
interface Verdict {
  errors: string[];
  warnings: string[];
}

function judge(mode: Mode, gathered: GatheredVariables): Verdict {
  const { warnings, refusals } = unknownNames(gathered);
  try {
    judgeConfig(mode, gathered);
    return { errors: refusals, warnings };
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err;
    return { errors: [...refusals, ...err.message.split("\n")], warnings };
  }
}

function readMode(word: string | undefined, given: string | undefined): Mode {
  const named = word ?? (given?.trim() || "hub");
  const mode = MODES.find((m) => m === named);
  if (mode === undefined) throw new UsageError(`"${named}" is not one of ${MODES.join(", ")}`);
  return mode;
}

/**
 * `flotilla config check|show [dev|hub|worker|control]`: checks the variables as a start of the mode would, and shows
 * each with its value and where it comes from; secrets are masked. Opens nothing and starts nothing.
 * @returns the exit code: 2 if the mode would not start with them.
 */
export async function runConfig(
  [action, word]: string[],
  { env, overrides, flags, terminal }: Omit<CommandDeps, "origins">,
): Promise<number> {
  if (action !== "check" && action !== "show")
    throw new UsageError(`"${action}" is not an action of config: check, show`);
  const mode = readMode(word, env.SVC_MODE);
  const gathered = gatherConfig({ env, flags: overrides });
  const verdict = judge(mode, gathered);
  const variables = action === "show" ? describeVariables(mode, gathered) : [];
  const ok = verdict.errors.length === 0;
  if (flags.json !== undefined) {
    const shown = action === "show" ? { variables } : {};
    terminal.out(`${JSON.stringify({ ok, mode, ...verdict, ...shown }, null, 2)}\n`);
    return ok ? EXIT.ok : EXIT.usage;
  }
  if (action === "show") terminal.out(`${tableOf(variables, terminal.width)}\n`);
  for (const warning of verdict.warnings) terminal.err(`warning: ${warning}\n`);
  for (const error of verdict.errors) terminal.err(`flotilla: ${error}\n`);
  if (ok && action === "check") terminal.out(`flotilla ${mode} would start with these variables\n`);
  return ok ? EXIT.ok : EXIT.usage;
}

const tableOf = (variables: VariableLine[], width: number | null): string =>
  formatTable(
    [{ title: "variable" }, { title: "value", shrink: 20 }, { title: "from", shrink: 12 }],
    variables.map((line) => [line.name, line.value ?? "(unset)", spellOrigin(line)]),
    width,
  );
