import { parseCommandLine } from "#hub/program/cli/args.ts";
import type { ClientCommand } from "#hub/program/cli/commands.ts";
import { UsageError } from "#hub/program/cli/exit.ts";
import type { Terminal } from "#hub/program/cli/print.ts";
import { runClientCommand } from "#hub/program/cli/run-command.ts";

/** What a command line printed, and its exit code. */
export interface Ran {
  code: number;
  out: string;
  err: string;
}

export interface CliOptions {
  /** Sees what was printed so far, and may end it as Ctrl-C would. */
  watch?: (seen: Ran, interrupt: () => void) => void;
  /** Ends it as Ctrl-C would, before anything is printed too. */
  interrupt?: AbortController;
  /** A terminal instead of a pipe. */
  terminal?: Partial<Terminal>;
  env?: Record<string, string>;
}

/** A command line of a client against a hub, in this process: parsed and run as `hub/main.ts` does it. */
export async function runCli(
  hub_url: string,
  line: readonly string[],
  { watch = () => {}, interrupt = new AbortController(), terminal = {}, env = {} }: CliOptions = {},
): Promise<Ran> {
  const seen: Ran = { code: -1, out: "", err: "" };
  const keep = (to: "out" | "err") => (data: string | Uint8Array) => {
    seen[to] += typeof data === "string" ? data : Buffer.from(data).toString("latin1");
    watch(seen, () => interrupt.abort());
  };
  const own: Terminal = {
    out: keep("out"),
    err: keep("err"),
    width: null,
    live: false,
    liveWidth: 120,
    ...terminal,
  };
  try {
    const parsed = parseCommandLine([...line], {});
    if (parsed.kind !== "command") throw new Error(`${line.join(" ")} is no command`);
    const variables = { SVC_HUB: hub_url, ...env };
    const { words, flags } = parsed;
    const command = parsed.command as ClientCommand;
    seen.code = await runClientCommand(command, words, flags, variables, own, interrupt.signal);
  } catch (err) {
    if (!(err instanceof UsageError)) throw err;
    seen.err += `flotilla: ${err.message}\n${err.next === null ? "" : `try: ${err.next}\n`}`;
    seen.code = 2;
  }
  return seen;
}
