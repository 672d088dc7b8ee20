import { join } from "node:path";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { AGENT_SYNC_MS, AgentSynced, type DesiredInstance } from "#shared/protocol/schema/agent.ts";
import type { GpuReading } from "#shared/protocol/schema/pull.ts";
import { createControlCall, isRefusal } from "../control-call.ts";
import { createInstances } from "./instances.ts";
import { loadState, saveState } from "./saved-state.ts";

export interface AgentDeps {
  control_url: string;
  host: string;
  secret: string | null;
  api_token: string | null;
  version: string;
  /** This agent's own directory: its state, and one directory per instance. */
  dir: string;
  /** Command that starts a worker; flags follow. */
  command: readonly string[];
  /** Flags of every instance, and the part of this process' environment that instances see. */
  flags: readonly string[];
  environment: Record<string, string>;
  /** How long the drain of an instance may take before its group is killed. */
  term_ms: number;
  readGpus(): Promise<GpuReading[]>;
  /** The control plane has answered; called again after it was away. */
  onAnswered?: () => void;
  clock: Clock;
  log: Log;
  /** By default AGENT_SYNC_MS. */
  sync_ms?: number;
}

export interface RunningAgent {
  /** Ends every instance, then tells the control plane. Idempotent. */
  stop(): Promise<void>;
}

const SYNC = "POST /api/v1/agents/{host}/sync";
/** Children that die one after the other are reported together. */
const GATHER_MS = 250;
/** Time for the last report of an agent that ends; nobody waits long for it. */
const FAREWELL_MS = 2_000;

/**
 * The agent of a host (rules/pipeline-agents#what-an-agent-does): asks the control plane what should run here, keeps it
 * running, and reports. While the control plane is away, it keeps to its last orders, even across its own restarts.
 */
export async function startAgent(deps: AgentDeps): Promise<RunningAgent> {
  const { host, dir, clock, log } = deps;
  const gone = new AbortController();
  const call = createControlCall({ ...deps, signal: gone.signal });
  const path = join(dir, "agent.json");
  let state = await loadState(path, log);
  let changed = new AbortController();
  const instances = createInstances({
    launch: (instance) => launchOf(deps, instance),
    term_ms: deps.term_ms,
    clock,
    log,
    onChange: () => changed.abort(),
  });
  const note = createAnswerNote(deps);

  const sync = async (): Promise<AgentSynced> => {
    const children = instances.report();
    const gpus = await deps.readGpus().catch((err) => {
      log.debug({ err: errorMessage(err) }, "could not read the GPUs");
      return [];
    });
    const json = { agent_id: state.agent_id, version: deps.version, gpus, children };
    const synced = AgentSynced.parse(await call(SYNC, { params: { host }, json }));
    instances.told(children);
    return synced;
  };
  const syncOnce = async (signal: AbortSignal): Promise<void> => {
    try {
      const { desired } = await sync();
      note("answers", "info");
      if (signal.aborted) return;
      if (JSON.stringify(desired.instances) !== JSON.stringify(state.instances)) {
        state = { ...state, instances: desired.instances };
        await saveState(path, state);
      }
      if (!signal.aborted) instances.want(state.instances);
    } catch (err) {
      if (signal.aborted) return;
      note(errorMessage(err), "warn");
      // Another agent is in charge of this host, so everything here would run twice.
      const refused = isRefusal(err) && err.status === 409;
      instances.want(refused ? [] : state.instances);
    }
  };

  await saveState(path, state);
  const loop = startLoop({
    name: "agent",
    everyMs: GATHER_MS,
    clock,
    log,
    pass: async (signal) => {
      // The next call reports a change that happens during this one.
      changed = new AbortController();
      await syncOnce(signal);
      await clock.sleep(deps.sync_ms ?? AGENT_SYNC_MS, AbortSignal.any([signal, changed.signal]));
    },
  });
  log.info({ host, control: deps.control_url }, "agent started");

  const end = async (): Promise<void> => {
    const stopped = instances.stop();
    await loop.stop();
    await stopped;
    await withDeadline("the last report", FAREWELL_MS, sync(), clock).catch((err) =>
      log.warn({ err: errorMessage(err) }, "could not send the last report"),
    );
    gone.abort();
    log.info({ host }, "agent stopped");
  };
  let stopping: Promise<void> | undefined;
  return {
    stop: () => {
      stopping ??= end();
      return stopping;
    },
  };
}

/** Logs how a sync ended, each change once. */
function createAnswerNote({
  host,
  log,
  onAnswered,
}: Pick<AgentDeps, "host" | "log" | "onAnswered">) {
  let answer = "";
  return (now: string, level: "info" | "warn"): void => {
    if (now === answer) return;
    log[level]({ host, answer: now }, "control plane");
    if (level === "info") onAnswered?.();
    answer = now;
  };
}

/** The agent's own flags come last, so that they take precedence. */
function launchOf(deps: AgentDeps, { instance_id, args, env }: DesiredInstance) {
  return {
    argv: [
      ...deps.command,
      ...args,
      ...deps.flags,
      "--agent=0",
      `--control-url=${deps.control_url}`,
      `--worker-id=${instance_id}`,
      `--data-dir=${join(deps.dir, "instances", instance_id)}`,
      "--exit-on-stdin-close",
    ],
    env: { ...deps.environment, ...env },
  };
}
