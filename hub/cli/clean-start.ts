import type { EnvSource } from "#shared/env.ts";
import { EXIT } from "./exit.ts";
import type { Terminal } from "./print.ts";

/**
 * Variables by which a caller changes how the runtime in the executable works: what it preloads, traces and prints, calls
 * with their tokens included. They are read before this program's first line, and everything it starts inherits them.
 * BUN_INSTALL, which shells of developers have set, only names a directory.
 */
const OF_RUNTIME = /^BUN_(?!INSTALL$)/;

/** Starts the compiled program anew, under the same number, without the runtime's variables. Returns where none is set. */
export function startClean(
  program: string,
  args: string[],
  env: EnvSource,
  terminal: Terminal,
): void {
  const names = Object.keys(env).filter((name) => OF_RUNTIME.test(name));
  if (names.length === 0) return;
  terminal.err(`flotilla: ${names.sort().join(", ")}: not for Flotilla, started again without\n`);
  const clean = Object.entries(env).filter(([name]) => !OF_RUNTIME.test(name));
  process.execve?.(program, [program, ...args], Object.fromEntries(clean) as NodeJS.ProcessEnv);
  process.exit(EXIT.internal);
}
