import type { EnvSource } from "#shared/kit/env.ts";
import { isOfRuntime } from "#shared/kit/runtime-flags.ts";
import { EXIT } from "./exit.ts";
import type { Terminal } from "./print.ts";

/** Restarts the compiled program under the same process id without the runtime's variables. Returns if none is set. */
export function startClean(
  program: string,
  args: string[],
  env: EnvSource,
  terminal: Terminal,
): void {
  const names = Object.keys(env).filter(isOfRuntime);
  if (names.length === 0) return;
  terminal.err(`flotilla: ${names.sort().join(", ")}: not meant for Flotilla; restarted without\n`);
  const clean = Object.entries(env).filter(([name]) => !isOfRuntime(name));
  process.execve?.(program, [program, ...args], Object.fromEntries(clean) as NodeJS.ProcessEnv);
  process.exit(EXIT.internal);
}
