import type { FlagValues } from "#hub/program/cli/args.ts";
import type { OperatorCommand } from "#hub/program/cli/commands.ts";
import type { Terminal } from "#hub/program/cli/print.ts";
import { runOperatorCommand } from "#hub/program/commands/run.ts";

/** An operator's command in this process, as the executable `self` would run it: how it ended and what it said. */
export async function runOperator(
  command: OperatorCommand,
  words: string[],
  flags: FlagValues,
  self: string | null,
) {
  const said = { out: "", err: "" };
  const terminal: Terminal = {
    width: null,
    liveWidth: 80,
    live: false,
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
  };
  const deps = { env: { PATH: process.env.PATH }, terminal, self };
  const code = await runOperatorCommand({ command, words, flags }, deps);
  return { code, said };
}
