import { type LiveConfig, liveConfig } from "#hub/program/live-config.ts";
import { lineFormat } from "#hub/program/log-format.ts";
import { traceFields } from "#hub/program/trace-fields.ts";
import { gatherVariables } from "#hub/program/variables/variable-sources.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { ConfigError, type EnvSource, UnavailableError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { createLog, type Log, type LogFormat, type LogLevel } from "#shared/kit/log.ts";
import { builtRelease } from "#shared/protocol/release.ts";
import { trustAuthority } from "#shared/protocol/trust.ts";
import { nodeVersion } from "#shared/protocol/version.ts";
import { openServiceNotify } from "#shared/service-notify.ts";
import { launchedBy, tellRegistered } from "#worker/program/update/launched.ts";
import { type FlagValues, flagOverrides, parseCommandLine } from "./program/cli/args.ts";
import { startClean } from "./program/cli/clean-start.ts";
import { type Command, isOperatorCommand } from "./program/cli/commands.ts";
import { EXIT, UsageError } from "./program/cli/exit.ts";
import type { Mode } from "./program/cli/flags.ts";
import { helpText } from "./program/cli/help.ts";
import { logTarget } from "./program/cli/log-target.ts";
import { runService, type Service, stopWithin } from "./program/cli/run-service.ts";
import { systemTerminal } from "./program/cli/terminal.ts";
import type { Reloader } from "./program/variables/reload.ts";

/**
 * The program: one mode or one command per process. What a mode needs is imported only when it runs, so that
 * --version and the client commands start without a database driver or a browser library.
 */

const env: EnvSource = process.env;
const stderr = logTarget(process.stderr.fd, env);
/** Ends a command at the first Ctrl-C, and when nobody reads any longer what it prints. */
const interrupt = new AbortController();
const terminal = systemTerminal(process, stderr.journal, env, () => interrupt.abort());

/** How this program starts itself again: the compiled binary alone, or Bun with this file. */
const launched = launchedBy();
const SELF =
  launched?.self ??
  (import.meta.path.startsWith("/$bunfs/")
    ? [process.execPath]
    : [process.execPath, import.meta.path]);

const logTo = (level: LogLevel | (() => LogLevel), format: LogFormat) =>
  createLog(
    level,
    (text) => void process.stderr.write(`${text}\n`),
    lineFormat(format, stderr),
    traceFields,
  );

const isOn = (value: string | undefined): boolean =>
  value !== undefined && ["1", "true", "yes", "on"].includes(value.trim().toLowerCase());

/** How a worker reports that Chromium, Xvnc or another program is not installed. */
const missingPackages = (err: unknown): string[] | null =>
  err instanceof Error && err.name === "MissingProgramError" && "packages" in err
    ? (err.packages as string[])
    : null;

/** On SIGHUP: rereads the variables, then the service applies what else has changed. */
const reloads =
  <C extends { readonly tls_ca: string | null }>(
    reloader: Reloader<C>,
    live: LiveConfig<C>,
    log: Log,
  ) =>
  (service: Service | undefined): void => {
    try {
      const { changed, needs_restart, warnings } = reloader.reload((config) => {
        trustAuthority(config.tls_ca);
        live.replace(config);
      });
      for (const warning of warnings) log.warn({}, warning);
      log.info({ changed, needs_restart }, "configuration reloaded");
    } catch (err) {
      log.error(
        { err: errorMessage(err) },
        "could not reload the configuration; the previous one stays in effect",
      );
    }
    try {
      service?.reload?.();
    } catch (err) {
      log.error(
        { err: errorMessage(err) },
        "could not load the TLS certificate; the previous one stays in use",
      );
    }
  };

/** This program's worker, or the version it has updated itself to (rules/updates#swapping-a-version). */
async function runWorker(flags: FlagValues): Promise<number> {
  const { blame, loadConfig } = await import("./program/variables/load.ts");
  const sources = { env, flags: flagOverrides(flags, "worker") };
  const loaded = loadConfig("worker", sources);
  const live = liveConfig(loaded.config);
  const { config } = live;
  try {
    trustAuthority(config.tls_ca);
  } catch (err) {
    blame(err, "worker", loaded.origins);
  }
  const log = logTo(() => config.log_level, config.log_format).child({ mode: "worker" });
  for (const warning of loaded.warnings) log.warn({}, warning);
  const clock = systemClock;
  const version = nodeVersion(config.version ?? undefined);
  const argv = process.argv.slice(2);
  const { launchWorker, restart } = await import("#worker/program/update/launcher.ts");
  if (launched === null) {
    const { data_dir, hub_url, update } = config;
    const program = { base: version, self: SELF, argv, clock, log };
    const code = await launchWorker({ ...program, ...update, data_dir, hub_url });
    if (code !== null) return code;
  }
  const { startServices } = await import("#worker/program/services.ts");
  const base = launched?.base ?? version;
  const notify = openServiceNotify(env);
  const told = { onRegistered: tellRegistered, onReady: notify.ready };
  const release = launched === null ? builtRelease() : (launched.release ?? null);
  const deps = { config, log, clock, version, base, self: SELF, release, ...told };
  const start = (signal: AbortSignal): Promise<Service> => {
    notify.status(`starting, then joining ${config.hub_url ?? config.pipeline.control_url}`);
    signal.addEventListener("abort", () => notify.stopping(stopWithin(config.drain_ms)));
    return startServices({ ...deps, signal });
  };
  const { createReloader } = await import("./program/variables/reload.ts");
  const reload = reloads(createReloader("worker", sources, loaded), live, log);
  const watches_stdin = isOn(loaded.env.SVC_EXIT_ON_STDIN_CLOSE);
  const code = await runService(process, log, start, watches_stdin, reload, config.drain_ms);
  // A launcher that watches this version decides for itself.
  const watched = process.send !== undefined;
  if (code === EXIT.updated && config.update.restarts_itself && !watched)
    restart({ self: SELF, argv, log });
  return code;
}

async function prepareService(mode: Exclude<Mode, "worker">, flags: FlagValues) {
  const clock = systemClock;
  const { blame, loadConfig } = await import("./program/variables/load.ts");
  // A hub that lives for one job needs no known address, so a busy port does not stop it.
  const defaults = mode === "dev" && flags.once ? { SVC_PORT: "0" } : {};
  const sources = { env, flags: flagOverrides(flags, mode), defaults };
  const loaded = loadConfig(mode, sources);
  const live = liveConfig(loaded.config);
  const { config } = live;
  const { origins } = loaded;
  try {
    trustAuthority(config.tls_ca);
  } catch (err) {
    blame(err, mode, origins);
  }
  const log = logTo(() => config.log_level, config.log_format).child({ mode });
  const { createReloader } = await import("./program/variables/reload.ts");
  const reload = reloads(createReloader(mode, sources, loaded), live, log);
  for (const warning of loaded.warnings) log.warn({}, warning);
  const watches_stdin = isOn(loaded.env.SVC_EXIT_ON_STDIN_CLOSE);
  const version = nodeVersion(config.version_fallback);
  const deps = { config, log, clock, version };
  if (mode === "dev") {
    const { startDev } = await import("./program/dev.ts");
    const dev = { ...deps, self: SELF, env: loaded.env, flags, terminal };
    const start = () => startDev(dev).catch((err) => blame(err, mode, origins));
    return { log, watches_stdin, start, reload, drain_ms: config.drain_ms };
  }
  const { startHub } = await import("./program/serve.ts");
  const { retryUnavailable } = await import("./program/cli/retry-unavailable.ts");
  const notify = openServiceNotify(env);
  const start = async (signal: AbortSignal): Promise<Service> => {
    notify.status("opening database and stores");
    signal.addEventListener("abort", () => notify.stopping(stopWithin(config.drain_ms)));
    const open = () => startHub({ ...deps, self: SELF });
    const hub = await (notify.heard
      ? retryUnavailable(open, { clock, log, signal, say: notify.status })
      : open()
    ).catch((err) => blame(err, mode, origins));
    notify.ready(`serving on ${hub.url}, version ${version}`);
    return hub;
  };
  return { log, watches_stdin, start, reload, drain_ms: config.drain_ms };
}

async function runMode(mode: Mode, flags: FlagValues): Promise<number> {
  // Before anything else: a SIGHUP before the configuration is read needs nothing more than reading it.
  process.on("SIGHUP", () => {});
  try {
    if (mode === "worker") return await runWorker(flags);
    const { log, start, watches_stdin, reload, drain_ms } = await prepareService(mode, flags);
    return await runService(process, log, start, watches_stdin, reload, drain_ms);
  } catch (err) {
    if (err instanceof ConfigError) throw err;
    if (err instanceof Error && err.name === "DataDirInUseError") {
      terminal.err(`flotilla: --data-dir: ${err.message}\n`);
      return EXIT.failed;
    }
    const packages = missingPackages(err);
    if (packages === null) throw err;
    terminal.err(`flotilla: ${errorMessage(err)}\n`);
    terminal.err(`flotilla: on Debian: apt-get install ${packages.join(" ")}\n`);
    terminal.err("flotilla: to see everything this machine lacks: flotilla doctor worker\n");
    return EXIT.missing_program;
  }
}

/** For a command, before its first connection to a hub. */
function trust(command: Command, flags: FlagValues): void {
  const given = flagOverrides(flags, command).SVC_TLS_CA;
  try {
    trustAuthority((given ?? env.SVC_TLS_CA)?.trim() || null);
  } catch (err) {
    if (!(err instanceof ConfigError) || given === undefined) throw err;
    throw new ConfigError(err.message.replace(/^SVC_TLS_CA:/, "--tls-ca:"));
  }
}

async function runCommand(words: Parameters<typeof parseCommandLine>[0]): Promise<number> {
  const invocation = parseCommandLine(words, env);
  if (invocation.kind === "command") trust(invocation.command, invocation.flags);
  switch (invocation.kind) {
    case "help":
      terminal.out(`${helpText(invocation.topic)}\n`);
      return EXIT.ok;
    case "version":
      terminal.out(`flotilla ${nodeVersion(env.SVC_VERSION)}\n`);
      return EXIT.ok;
    case "mode":
      return runMode(invocation.mode, invocation.flags);
    case "command": {
      if (invocation.command === "admin") {
        const { runAdminCommand } = await import("./program/admin-command.ts");
        return runAdminCommand(
          invocation.words,
          env,
          flagOverrides(invocation.flags, "admin"),
          terminal,
        );
      }
      if (invocation.command === "guide") {
        const { runGuideCommand } = await import("./program/guide-command.ts");
        const given = flagOverrides(invocation.flags, "guide");
        return runGuideCommand(invocation.words, { ...env, ...given }, terminal);
      }
      if (invocation.command === "completions") {
        const { runCompletions } = await import("./program/cli/completions/completions.ts");
        return runCompletions(invocation.words, terminal);
      }
      if (isOperatorCommand(invocation.command)) {
        const { runOperatorCommand } = await import("./program/commands/run.ts");
        const self = SELF.length === 1 ? process.execPath : null;
        return runOperatorCommand(
          { ...invocation, command: invocation.command },
          { env, terminal, self },
        );
      }
      for (const signal of ["SIGINT", "SIGTERM"] as const)
        process.on(signal, () => {
          if (interrupt.signal.aborted) process.exit(EXIT.interrupted);
          interrupt.abort();
        });
      const { command, words, flags } = invocation;
      const variables = gatherVariables({ env, secrets: ["SVC_API_TOKEN"] }).env;
      if (command === "mcp") {
        const { startMcp } = await import("./program/mcp/stdio.ts");
        const settings = { ...variables, ...flagOverrides(flags, command) };
        const version = nodeVersion(env.SVC_VERSION);
        return startMcp({ settings, version, terminal, signal: interrupt.signal });
      }
      const { runClientCommand } = await import("./program/cli/run-command.ts");
      return runClientCommand(command, words, flags, variables, terminal, interrupt.signal);
    }
  }
}

// From source, the runtime is the developer's own, and an updated version runs in a program that has done this already.
if (launched === null && SELF.length === 1)
  startClean(process.execPath, process.argv.slice(2), env, terminal);
try {
  process.exitCode = await runCommand(process.argv.slice(2));
} catch (err) {
  if (err instanceof UsageError || err instanceof ConfigError) {
    for (const line of err.message.split("\n")) terminal.err(`flotilla: ${line}\n`);
    if (err instanceof UsageError && err.next !== null) terminal.err(`try: ${err.next}\n`);
    process.exitCode = err instanceof UnavailableError ? EXIT.unavailable : EXIT.usage;
  } else {
    logTo("error", "auto").error({ err }, "start failed");
    process.exitCode = EXIT.internal;
  }
}
// A stray handle (a kept-alive connection) must not keep a finished process alive.
process.exit(process.exitCode);
