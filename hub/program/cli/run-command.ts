import { FlotillaError } from "#shared/client/index.ts";
import { systemClock } from "#shared/kit/clock.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { withScheme } from "#shared/protocol/missing-scheme.ts";
import { type FlagValues, flagOverrides } from "./args.ts";
import type { ClientCommand } from "./commands.ts";
import { runDiffCommand } from "./diff.ts";
import { EXIT, UsageError } from "./exit.ts";
import { runFailuresCommand } from "./failures.ts";
import { parseOption, runFetchCommand } from "./fetch.ts";
import { runFindCommand } from "./find.ts";
import { DEFAULT_HUB } from "./flags.ts";
import { runFleetCommand } from "./fleet.ts";
import { isDrainWord, runDrain } from "./fleet-drain.ts";
import { awayText, createHubClient, isAway } from "./hub-client.ts";
import { runImportCommand } from "./import-archive.ts";
import { labelsOf } from "./labels.ts";
import { runAuditCommand, runLinkCommand } from "./links-and-audit.ts";
import {
  runCancelCommand,
  runEnginesCommand,
  runJobsCommand,
  runWorkersCommand,
} from "./list-commands.ts";
import { isPipelineCommand, runPipelineCommand } from "./pipeline.ts";
import { printable, type Terminal } from "./print.ts";
import { runTokensCommand } from "./tokens.ts";
import { runVideoCommand, videoAsked } from "./video.ts";
import { runWatchCommand } from "./watch.ts";

/** @throws UsageError unless `raw` is an absolute http(s) URL. */
export function checkTarget(raw: string): string {
  if (!URL.canParse(raw) || !/^https?:/i.test(raw)) {
    const meant = withScheme(raw);
    const hint = meant === null ? "" : `: did you mean ${meant}?`;
    throw new UsageError(`"${raw}" is not an http or https URL${hint}`);
  }
  return raw;
}

const jobOptions = (flags: FlagValues) => Object.fromEntries((flags.option ?? []).map(parseOption));

function fetchAsked(word: string, flags: FlagValues) {
  const options = jobOptions(flags);
  if (flags.headless) options.headless = true;
  const preset = flags.preset?.at(-1) ?? null;
  const labels = labelsOf(flags.label);
  return { url: checkTarget(word), preset, options, labels, out: flags.out?.at(-1) ?? null };
}

const jobsAsked = (flags: FlagValues) => ({
  status: flags.status?.at(-1),
  limit: flags.limit?.at(-1),
  label: flags.label,
});

const linkAsked = (flags: FlagValues) => ({
  mode: flags.mode?.at(-1),
  expires: flags.expires?.at(-1),
});

const auditAsked = (flags: FlagValues) => {
  const names = ["who", "method", "route", "status", "since", "until", "limit"];
  return Object.fromEntries(names.map((name) => [name, flags[name]?.at(-1)]));
};

const watchAsked = (word: string, flags: FlagValues) => ({
  url: word === "" ? null : checkTarget(word),
  cron: flags.cron?.at(-1),
  cron_tz: flags.tz?.at(-1),
  every: flags.every?.at(-1),
  name: flags.name?.at(-1),
  options: jobOptions(flags),
});

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
        url: client.base_url,
        token: env.SVC_API_TOKEN?.trim(),
        terminal,
        clock: systemClock,
        signal,
      });
    const timed = { ...deps, clock: systemClock, signal };
    switch (command) {
      case "fetch":
        return await runFetchCommand(timed, { ...fetchAsked(word, flags), json });
      case "jobs":
        return await runJobsCommand(deps, jobsAsked(flags), json);
      case "find":
        return await runFindCommand(deps, words, flags.limit?.at(-1), json);
      case "workers":
        return await runWorkersCommand(deps, json);
      case "engines":
        return await runEnginesCommand(deps, json);
      case "fleet":
        if (isDrainWord(word)) return await runDrain(timed, word, words.slice(1), json);
        return await runFleetCommand({ ...deps, env }, words, json);
      case "tokens":
        return await runTokensCommand({ ...deps, env }, words, flags.expires?.at(-1), json);
      case "link":
        return await runLinkCommand({ ...deps, env }, words, linkAsked(flags), json);
      case "audit":
        return await runAuditCommand({ ...deps, env }, auditAsked(flags), json);
      case "watch":
        return await runWatchCommand(deps, watchAsked(word, flags), json);
      case "diff":
        return await runDiffCommand(deps, word, words[1] ?? "", json);
      case "import":
        return await runImportCommand(deps, word, json);
      case "video":
        return await runVideoCommand(timed, word, videoAsked(flags));
      case "failures":
      case "retry":
        return await runFailuresCommand(deps, command === "retry" ? command : word, flags);
      case "cancel":
        return await runCancelCommand(deps, word, json);
    }
  } catch (err) {
    if (err instanceof UsageError) throw err;
    if (err instanceof FlotillaError && (err.status === 400 || err.status === 422))
      throw new UsageError(printable(err.message));
    const why =
      err instanceof FlotillaError
        ? printable(isAway(err) ? awayText(client.base_url, err) : err.message)
        : errorMessage(err);
    terminal.err(`flotilla: ${why}\n`);
    return isAway(err) ? EXIT.hub_unreachable : EXIT.failed;
  }
}
