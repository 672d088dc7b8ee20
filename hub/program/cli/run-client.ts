import type { FlagValues } from "./args.ts";
import { runBenchCommand } from "./bench/bench.ts";
import { checkTarget } from "./check-target.ts";
import { type ClientCall, lastOf } from "./client-call.ts";
import type { ClientCommand } from "./commands.ts";
import { runDiffCommand } from "./diff.ts";
import { runFailuresCommand } from "./failures.ts";
import { parseOption, runFetchCommand } from "./fetch.ts";
import { runFindCommand } from "./find.ts";
import { runFleetCommand } from "./fleet.ts";
import { isDrainWord, runDrain } from "./fleet-drain.ts";
import { runImportCommand } from "./import-archive.ts";
import { labelsOf } from "./labels.ts";
import { runAuditCommand, runLinkCommand } from "./links-and-audit.ts";
import {
  runCancelCommand,
  runEnginesCommand,
  runJobsCommand,
  runWorkersCommand,
} from "./list-commands.ts";
import { runLogsCommand } from "./logs/logs.ts";
import { runOpenCommand } from "./open.ts";
import { runPipelineCommand } from "./pipeline.ts";
import { runRetryCommand } from "./retry.ts";
import { runSessionsCommand } from "./sessions.ts";
import { runPdfCommand, runScreenshotCommand } from "./shots.ts";
import { runTasksCommand } from "./tasks.ts";
import { runTokensCommand } from "./tokens.ts";
import { runTopCommand } from "./top/top.ts";
import { runVideoCommand, videoAsked } from "./video.ts";
import { runWatchCommand } from "./watch.ts";
import { runWorkloadsCommand } from "./workloads.ts";

const jobOptions = (flags: FlagValues) => Object.fromEntries((flags.option ?? []).map(parseOption));

function fetchAsked(word: string, flags: FlagValues) {
  const options = jobOptions(flags);
  if (flags.headless) options.headless = true;
  const preset = lastOf(flags, "preset") ?? null;
  const labels = labelsOf(flags.label);
  return { url: checkTarget(word), preset, options, labels, out: lastOf(flags, "out") ?? null };
}

const jobsAsked = (flags: FlagValues) => ({
  status: lastOf(flags, "status"),
  limit: lastOf(flags, "limit"),
  label: flags.label,
});

const linkAsked = (flags: FlagValues) => ({
  mode: lastOf(flags, "mode"),
  expires: lastOf(flags, "expires"),
});

const auditAsked = (flags: FlagValues) => {
  const names = ["who", "method", "route", "status", "since", "until", "limit"];
  return Object.fromEntries(names.map((name) => [name, lastOf(flags, name)]));
};

const watchAsked = (word: string, flags: FlagValues) => ({
  url: word === "" ? null : checkTarget(word),
  cron: lastOf(flags, "cron"),
  cron_tz: lastOf(flags, "tz"),
  every: lastOf(flags, "every"),
  name: lastOf(flags, "name"),
  options: jobOptions(flags),
});

const firstOf = ({ words }: ClientCall): string => words[0] ?? "";

/** What runs each command of a client; the compiler refuses a command that is missing. */
export const RUN: Record<ClientCommand, (call: ClientCall) => Promise<number>> = {
  fetch: (c) => runFetchCommand(c, { ...fetchAsked(firstOf(c), c.flags), json: c.json }),
  jobs: (c) => runJobsCommand(c, jobsAsked(c.flags), c.json),
  sessions: runSessionsCommand,
  find: (c) => runFindCommand(c, c.words, lastOf(c.flags, "limit"), c.json),
  workers: (c) => runWorkersCommand(c, c.json),
  engines: (c) => runEnginesCommand(c, c.json),
  fleet: (c) => {
    const word = firstOf(c);
    if (isDrainWord(word)) return runDrain(c, word, c.words.slice(1), c.json);
    return runFleetCommand(c, c.words, c.json);
  },
  tokens: (c) => runTokensCommand(c, c.words, lastOf(c.flags, "expires"), c.json),
  link: (c) => runLinkCommand(c, c.words, linkAsked(c.flags), c.json),
  audit: (c) => runAuditCommand(c, auditAsked(c.flags), c.json),
  watch: (c) => runWatchCommand(c, watchAsked(firstOf(c), c.flags), c.json),
  diff: (c) => runDiffCommand(c, firstOf(c), c.words[1] ?? "", c.json),
  import: (c) => runImportCommand(c, firstOf(c), c.json),
  video: (c) => runVideoCommand(c, firstOf(c), videoAsked(c.flags)),
  submit: (c) => runPipelineCommand("submit", c),
  queue: (c) => runPipelineCommand("queue", c),
  runs: (c) => runPipelineCommand("runs", c),
  failures: (c) => runFailuresCommand(c, firstOf(c), c.flags),
  retry: runRetryCommand,
  workloads: runWorkloadsCommand,
  tasks: runTasksCommand,
  screenshot: runScreenshotCommand,
  pdf: runPdfCommand,
  logs: runLogsCommand,
  top: runTopCommand,
  open: runOpenCommand,
  bench: runBenchCommand,
  cancel: (c) => runCancelCommand(c, firstOf(c), c.json),
};
