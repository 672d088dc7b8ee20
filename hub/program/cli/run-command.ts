import { FlotillaError } from "#shared/client/index.ts";
import { systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { type FlagValues, flagOverrides } from "./args.ts";
import type { ClientCommand } from "./commands.ts";
import { EXIT, UsageError } from "./exit.ts";
import { DEFAULT_HUB } from "./flags.ts";
import { createHubClient, isAway, readsUntil, tellFailure } from "./hub-client.ts";
import { printable, type Terminal } from "./print.ts";
import { RUN } from "./run-client.ts";

/**
 * Runs a client command against the hub at SVC_HUB (rules/clients#address-of-the-hub), and prints what goes wrong.
 * @returns the exit code (`EXIT`).
 */
export async function runClientCommand(
  command: ClientCommand,
  words: string[],
  flags: FlagValues,
  env: EnvSource,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const json = flags.json !== undefined;
  const settings = { ...env, ...flagOverrides(flags, command) };
  const address = settings.SVC_HUB?.trim() || DEFAULT_HUB;
  const client = readsUntil(signal, createHubClient(address, env.SVC_API_TOKEN?.trim()));
  const call = { client, terminal, clock: systemClock, signal, env, words, flags, json };
  try {
    return await RUN[command](call);
  } catch (err) {
    if (err instanceof UsageError) throw err;
    if (!(err instanceof FlotillaError)) {
      terminal.err(`flotilla: ${printable(errorMessage(err))}\n`);
      return EXIT.failed;
    }
    if (err.status === 400 || err.status === 422) throw new UsageError(printable(err.message));
    // Ctrl-C ended the call; that says nothing about the hub.
    if (isAway(err) && signal.aborted) return EXIT.interrupted;
    tellFailure(terminal, client.base_url, err);
    return isAway(err) ? EXIT.hub_unreachable : EXIT.failed;
  }
}
