import { existsSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { callWithin } from "#shared/kit/call-within.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { signalGroup } from "#shared/kit/signal-group.ts";
import { builtRelease } from "#shared/protocol/release.ts";
import { fetchHub } from "#shared/protocol/trust.ts";
import { openServiceNotify } from "#shared/service-notify.ts";
import { EXIT_UPDATED, markLaunched, REGISTERED, TRIAL_ENV } from "./launched.ts";
import { offerPackages } from "./packages.ts";
import { findStaged, pruneVersions } from "./stage.ts";
import { readState, type UpdateState, versionsDir, writeState } from "./state.ts";

/** A version that fails its handshake this often is rolled back (rules/updates#trial-and-rollback). */
const MAX_ATTEMPTS = 2;
/** How long a hub may take to answer. */
const PROBE_MS = 5_000;
/** A second signal ends a service immediately. */
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

export interface LauncherDeps {
  data_dir: string;
  /** Address of the hub as it was given; null for a worker without lanes. */
  hub_url: string | null;
  /** Version of this program. */
  base: string;
  /** Command that starts this program, and what it was started with. */
  self: string[];
  argv: string[];
  /** How long a version may take to its handshake. */
  handshake_ms: number;
  /** Whether exit code 42 starts the program again here, or is left to a supervisor. */
  restarts_itself: boolean;
  clock: Clock;
  log: Log;
}

/**
 * Decides what `flotilla worker` runs: the version its data directory names, or the program's own. A version that has
 * not shaken hands with a hub yet is run in a child process under supervision; any other one in this process.
 * @returns the exit code, or null when the caller should run the program's own version.
 */
export async function launchWorker(deps: LauncherDeps): Promise<number | null> {
  const { base, log } = deps;
  const dir = versionsDir(deps.data_dir);
  const state = await readState(dir, base, log);
  const on_trial = process.env[TRIAL_ENV] !== undefined;
  // Nobody below this process is on trial.
  delete process.env[TRIAL_ENV];
  if (on_trial) process.once("disconnect", () => process.exit(EXIT_ORPHANED));
  if (state.current === null) return null;
  if (state.attempts !== null && !on_trial) return superviseTrial(deps, dir);
  const root = await findStaged(dir, state.current);
  if (root === null) {
    if (on_trial) throw new Error(`the files of version ${state.current} are damaged`);
    log.error(
      { version: state.current },
      "the updated version's files are damaged: not running it",
    );
    await writeState(dir, { ...state, current: null, previous: null, attempts: null });
    return null;
  }
  log.info({ version: state.current, program: base }, "running an updated version");
  markLaunched({ base, self: deps.self, release: builtRelease() });
  if (!existsSync(join(root, NOTIFIES)))
    openServiceNotify(process.env).ready(
      `runs version ${state.current}, which reports nothing more`,
    );
  offerPackages(root);
  // Ends this process itself, as the program does.
  await import(join(root, "hub/main.ts"));
  return 0;
}

/** A version with this file, which versions in the field look for at this very path, tells systemd itself that it serves; for an older one the program does, in the same event loop. */
const NOTIFIES = "shared/service-notify.ts";

/** The launcher is gone, so nobody supervises this process. */
const EXIT_ORPHANED = 70;

/** Starts versions on trial, one after the other, until one ends that had its handshake. */
async function superviseTrial(deps: LauncherDeps, dir: string): Promise<number> {
  const { log } = deps;
  const stopping = new AbortController();
  // systemd hears this process alone. Whether the child's event loop runs is its own watchdog's to see
  // (rules/workers#stall-watchdog).
  const notify = openServiceNotify(process.env);
  let child: Trial | null = null;
  const onSignal = (signal: NodeJS.Signals) => {
    stopping.abort();
    notify.stopping();
    child?.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on("SIGHUP", () => child?.kill("SIGHUP"));
  while (!stopping.signal.aborted) {
    const state = await readState(dir, deps.base, log);
    if (state.current === null || state.attempts === null) return restart(deps);
    const { current: version, attempts } = state;
    if (attempts >= MAX_ATTEMPTS) {
      await rollBack(dir, state, `no handshake in ${attempts} starts`, log);
      return restart(deps);
    }
    await writeState(dir, { ...state, attempts: attempts + 1 });
    log.info({ version, attempt: attempts + 1 }, "starting an updated version");
    notify.status(`version ${version} is on trial, start ${attempts + 1}`);
    child = startTrial(deps, stopping.signal);
    const failure = await child.failure;
    if (failure === null) {
      const registered = await readState(dir, deps.base, log);
      if (registered.current === version) await writeState(dir, { ...registered, attempts: null });
      log.info({ version }, "the updated version has registered with its hub");
      notify.ready(`runs version ${version}, which has registered with its hub`);
    } else if (!stopping.signal.aborted) {
      log.error({ version, attempt: attempts + 1, reason: failure }, "updated version failed");
      if (attempts + 1 >= MAX_ATTEMPTS)
        await rollBack(dir, await readState(dir, deps.base, log), failure, log);
    } else await writeState(dir, state);
    const code = await child.exited;
    child = null;
    if (stopping.signal.aborted) return code;
    if (failure !== null) continue;
    if (code !== EXIT_UPDATED || !deps.restarts_itself) return code;
    return restart(deps);
  }
  return 0;
}

/** Goes back to what ran before, and remembers why. */
async function rollBack(dir: string, state: UpdateState, reason: string, log: Log): Promise<void> {
  const { current, previous } = state;
  if (current === null) return;
  const back = previous !== null && (await findStaged(dir, previous)) !== null ? previous : null;
  log.error({ version: current, back_to: back ?? state.base, reason }, "rolled back a version");
  const bad = { version: current, reason, at: new Date().toISOString() };
  await writeState(dir, { ...state, current: back, previous: null, attempts: null, bad });
  await pruneVersions(dir, [back]);
}

interface Trial {
  /** Why it had no handshake, or null when it had one. */
  failure: Promise<string | null>;
  exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** Exit code as a shell reports it. */
const codeOf = (code: number | null, signal: NodeJS.Signals | number | null): number =>
  code ?? 128 + (typeof signal === "string" ? constants.signals[signal] : (signal ?? 0));

function startTrial(deps: LauncherDeps, stopping: AbortSignal): Trial {
  const { self, argv, log } = deps;
  const settled = Promise.withResolvers<string | null>();
  const over = new AbortController();
  const child = Bun.spawn([...self, ...argv], {
    env: { ...process.env, [TRIAL_ENV]: "1" },
    stdio: ["inherit", "inherit", "inherit"],
    serialization: "json",
    // This process passes on Ctrl-C from a terminal, once.
    detached: true,
    ipc: (message) => {
      if (message === REGISTERED) settled.resolve(null);
    },
  });
  const { pid } = child;
  const exited = child.exited.then(() => {
    signalGroup(pid, "SIGKILL");
    const code = codeOf(child.exitCode, child.signalCode);
    settled.resolve(`it ended with exit code ${code} before its handshake`);
    return code;
  });
  void settled.promise.then(() => over.abort());
  void waitForHandshake(deps, AbortSignal.any([over.signal, stopping])).then((late) => {
    if (!late || over.signal.aborted) return;
    settled.resolve(`it had no handshake within ${deps.handshake_ms / 1_000} s`);
    log.error({ pid }, "killed the updated version");
    signalGroup(pid, "SIGKILL");
  });
  return { failure: settled.promise, exited, kill: (signal) => child.kill(signal) };
}

/** Resolves with true when the time is over. Time during which the hub is away does not count. */
async function waitForHandshake(deps: LauncherDeps, over: AbortSignal): Promise<boolean> {
  for (;;) {
    await deps.clock.sleep(deps.handshake_ms, over);
    if (over.aborted) return false;
    if (deps.hub_url === null || (await hubAnswers(deps.clock, deps.hub_url, over)))
      return !over.aborted;
    deps.log.warn(
      { hub: deps.hub_url },
      "the hub does not answer: giving the updated version more time",
    );
  }
}

function hubAnswers(clock: Clock, hub_url: string, over: AbortSignal): Promise<boolean> {
  const url = hub_url.replace(/^ws/i, "http").replace(/\/+$/, "");
  return callWithin(clock, { what: "the hub", ms: PROBE_MS, signal: over }, async (signal) => {
    const answer = await fetchHub(`${url}/health`, { signal });
    await answer.body?.cancel();
    return answer.ok;
  }).catch(() => false);
}

/** Restarts this process under the same pid: nothing of what it ran remains in memory. */
export function restart({ self, argv, log }: Pick<LauncherDeps, "self" | "argv" | "log">): never {
  const [program = process.execPath, ...rest] = self;
  try {
    process.execve?.(program, [program, ...rest, ...argv], process.env);
  } catch (err) {
    log.error({ err: errorMessage(err) }, "could not restart the program");
  }
  process.exit(EXIT_UPDATED);
}
