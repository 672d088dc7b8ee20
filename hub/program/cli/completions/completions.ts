import { EXIT, UsageError } from "../exit.ts";
import type { Terminal } from "../print.ts";
import { bashCompletions } from "./bash.ts";
import { fishCompletions } from "./fish.ts";
import { zshCompletions } from "./zsh.ts";

const OF_SHELL: Record<string, () => string> = {
  bash: bashCompletions,
  zsh: zshCompletions,
  fish: fishCompletions,
};

/** `flotilla completions SHELL` (rules/clients#completions). @throws UsageError for another shell */
export function runCompletions(
  [shell = ""]: readonly string[],
  terminal: Pick<Terminal, "out">,
): number {
  const write = Object.hasOwn(OF_SHELL, shell) ? OF_SHELL[shell] : undefined;
  if (!write)
    throw new UsageError(
      `completions are for ${Object.keys(OF_SHELL).join(", ")}, not for "${shell}"`,
      "flotilla completions bash",
    );
  terminal.out(write());
  return EXIT.ok;
}
