import type { EnvSource } from "#shared/kit/env.ts";
import { isOfRuntime } from "#shared/kit/runtime-flags.ts";
import { EXIT } from "./exit.ts";
import type { Terminal } from "./print.ts";

/** Starts the compiled program anew, under the same number, without the runtime's variables. Returns where none is set. */
export function startClean(
  program: string,
  args: string[],
  env: EnvSource,
  terminal: Terminal,
): void {
  const names = Object.keys(env).filter(isOfRuntime);
  if (names.length === 0) return;
  terminal.err(`flotilla: ${names.sort().join(", ")}: not for Flotilla, started again without\n`);
  const clean = Object.entries(env).filter(([name]) => !isOfRuntime(name));
  process.execve?.(program, [program, ...args], Object.fromEntries(clean) as NodeJS.ProcessEnv);
  process.exit(EXIT.internal);
}
