import type { CommandEntry, CommandTable } from "./table/entry.ts";
import { FLEET_COMMANDS } from "./table/fleet-commands.ts";
import { HUB_COMMANDS } from "./table/hub-commands.ts";
import { OPERATOR_COMMANDS } from "./table/operator-commands.ts";
import { PIPELINE_COMMANDS } from "./table/pipeline-commands.ts";

/**
 * Every command of the program: the parser, `--help`, the guide, the completions and the manual page read this table.
 * Commands of a client are run by `run-command.ts`, those of an operator by `commands/run.ts`; the compiler refuses one that
 * nothing runs.
 */
export const COMMANDS = {
  ...FLEET_COMMANDS,
  ...PIPELINE_COMMANDS,
  ...HUB_COMMANDS,
  ...OPERATOR_COMMANDS,
} as const satisfies CommandTable;

export type Command = keyof typeof COMMANDS;
type OfKind<Kind extends CommandEntry["kind"]> = {
  [C in Command]: (typeof COMMANDS)[C]["kind"] extends Kind ? C : never;
}[Command];
export type ClientCommand = OfKind<"client">;
export type OperatorCommand = OfKind<"operator">;

export const COMMAND_NAMES = Object.keys(COMMANDS) as Command[];
export const isCommand = (word: string): word is Command => Object.hasOwn(COMMANDS, word);
export const isOperatorCommand = (command: Command): command is OperatorCommand =>
  COMMANDS[command].kind === "operator";
/** Whether it is for the operator of this machine. */
export const isOperator = (command: Command): boolean =>
  ["operator", "admin"].includes(COMMANDS[command].kind);
/** What a command takes, whichever it is. */
export const entryOf = (command: Command): CommandEntry => COMMANDS[command];
