import { FlotillaError } from "#shared/client/index.ts";
import { systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { withScheme } from "#shared/protocol/missing-scheme.ts";
import { type FlagValues, flagOverrides } from "./args.ts";
import { EXIT, UsageError } from "./exit.ts";
import { parseOption, runFetchCommand } from "./fetch.ts";
import { type ClientCommand, DEFAULT_HUB } from "./flags.ts";
import { runFleetCommand } from "./fleet.ts";
import { isDrainWord, runDrain } from "./fleet-drain.ts";
import { createHubClient, HubUnreachable } from "./hub-client.ts";
import { runAuditCommand, runLinkCommand } from "./links-and-audit.ts";
import {
  runCancelCommand,
  runEnginesCommand,
  runJobsCommand,
  runWorkersCommand,
} from "./list-commands.ts";
import { isPipelineCommand, runPipelineCommand } from "./pipeline.ts";
import type { Terminal } from "./print.ts";
import { runTokensCommand } from "./tokens.ts";

/** @throws UsageError unless `raw` is an absolute http(s) URL. */
export function checkTarget(raw: string): string {
  if (!URL.canParse(raw) || !/^https?:/i.test(raw)) {
    const meant = withScheme(raw);
    const hint = meant === null ? "" : `: did you mean ${meant}?`;
    throw new UsageError(`"${raw}" is not an http or https URL${hint}`);
  }
  return raw;
}

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
  const client = createHubClient(address, env.SVC_API_TOKEN?.trim());
  const deps = { client, terminal };
  const word = words[0] ?? "";
  try {
    if (isPipelineCommand(command))
      return await runPipelineCommand(command, words, flags, {
        ...{ url: client.url, token: env.SVC_API_TOKEN?.trim() },
        ...{ terminal, clock: systemClock, signal },
      });
    switch (command) {
      case "fetch": {
        const options = Object.fromEntries((flags.option ?? []).map(parseOption));
        if (flags.headless) options.headless = true;
        const preset = flags.preset?.at(-1) ?? null;
        const out = flags.out?.at(-1) ?? null;
        const request = { url: checkTarget(word), preset, options, out, json };
        return await runFetchCommand({ ...deps, clock: systemClock, signal }, request);
      }
      case "jobs":
        return await runJobsCommand(
          deps,
          { status: flags.status?.at(-1), limit: flags.limit?.at(-1) },
          json,
        );
      case "workers":
        return await runWorkersCommand(deps, json);
      case "engines":
        return await runEnginesCommand(deps, json);
      case "fleet":
        if (isDrainWord(word))
          return await runDrain(
            { ...deps, clock: systemClock, signal },
            word,
            words.slice(1),
            json,
          );
        return await runFleetCommand({ ...deps, env }, words, json);
      case "tokens":
        return await runTokensCommand({ ...deps, env }, words, flags.expires?.at(-1), json);
      case "link": {
        const given = { mode: flags.mode?.at(-1), expires: flags.expires?.at(-1) };
        return await runLinkCommand({ ...deps, env }, words, given, json);
      }
      case "audit": {
        const names = ["who", "method", "route", "status", "since", "until", "limit"];
        const filter = Object.fromEntries(names.map((name) => [name, flags[name]?.at(-1)]));
        return await runAuditCommand({ ...deps, env }, filter, json);
      }
      case "cancel":
        return await runCancelCommand(deps, word, json);
    }
  } catch (err) {
    if (err instanceof UsageError) throw err;
    if (err instanceof FlotillaError && (err.status === 400 || err.status === 422))
      throw new UsageError(err.message);
    terminal.err(`flotilla: ${err instanceof Error ? err.message : String(err)}\n`);
    const away = err instanceof FlotillaError ? err.status === 0 : err instanceof HubUnreachable;
    return away ? EXIT.hub_unreachable : EXIT.failed;
  }
}
