import { ConfigError, type EnvSource } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { type FlagValues, flagOverrides } from "../cli/args.ts";
import type { OperatorCommand } from "../cli/commands.ts";
import { EXIT, UsageError } from "../cli/exit.ts";
import type { Terminal } from "../cli/print.ts";
import { gatherConfig, judgeNames } from "../variables/load.ts";
import { runBackup } from "./backup/backup.ts";
import { runRestore } from "./backup/restore.ts";
import { runConfig } from "./config.ts";
import { runDoctor } from "./doctor/doctor.ts";
import { runInstall } from "./install/install.ts";
import { runRollback } from "./install/rollback.ts";
import { realSystem } from "./install/system.ts";
import { runUninstall } from "./install/uninstall.ts";
import { runUpgrade } from "./install/upgrade.ts";
import { runMigrate } from "./migrate.ts";
import { runMonitoring } from "./monitoring.ts";
import { CommandRefused } from "./refused.ts";
import { runSecrets } from "./secrets.ts";

export interface OperatorDeps {
  env: EnvSource;
  terminal: Terminal;
  /** This program's file when it is compiled; null from source. */
  self: string | null;
}

export interface OperatorCall {
  command: OperatorCommand;
  words: string[];
  flags: FlagValues;
}

/**
 * Runs an operator's command and prints why it was refused.
 * @returns the exit code (`EXIT`). @throws UsageError for wrong words, flags and variables.
 */
export async function runOperatorCommand(call: OperatorCall, deps: OperatorDeps): Promise<number> {
  const { command, flags } = call;
  try {
    return await run(call, { ...deps, flags, overrides: flagOverrides(flags, command) });
  } catch (err) {
    if (err instanceof ConfigError) throw err;
    if (err instanceof UsageError) throw err;
    const said = err instanceof CommandRefused ? err.message : `${command}: ${errorMessage(err)}`;
    deps.terminal.err(`flotilla: ${said}\n`);
    return EXIT.failed;
  }
}

/** The variables for a command, which reports wrong names before it does anything. */
function withVariables<T extends OperatorDeps & { overrides: EnvSource }>(deps: T) {
  const gathered = gatherConfig({ env: deps.env, flags: deps.overrides });
  for (const warning of judgeNames(gathered)) deps.terminal.err(`flotilla: warning: ${warning}\n`);
  return { ...deps, ...gathered };
}

function run(
  { command, words }: OperatorCall,
  deps: OperatorDeps & { flags: FlagValues; overrides: EnvSource },
): Promise<number> {
  switch (command) {
    case "install":
      return runInstall(words, { ...deps, system: realSystem(deps.env) });
    case "uninstall":
      return runUninstall(words, { ...deps, system: realSystem(deps.env) });
    case "rollback":
      return runRollback(words, { ...deps, system: realSystem(deps.env) });
    case "upgrade":
      return runUpgrade({ ...deps, system: realSystem(deps.env) });
    case "config":
      return runConfig(words, deps);
    case "doctor":
      // It reports unknown names itself, as something to fix.
      return runDoctor(words, {
        ...deps,
        ...gatherConfig({ env: deps.env, flags: deps.overrides }),
      });
    case "monitoring":
      return runMonitoring(words, deps);
    case "migrate":
      return runMigrate(withVariables(deps));
    case "backup":
      return runBackup(words, withVariables(deps));
    case "restore":
      return runRestore(words, withVariables(deps));
    case "secrets":
      return runSecrets(words, withVariables(deps));
  }
}
