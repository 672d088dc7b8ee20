import { ConfigError } from "#shared/kit/env.ts";
import { createScope } from "#shared/kit/scope.ts";
import { parseHubUrl } from "#worker/link/hub-url.ts";
import type { PullUpdate } from "#worker/tasks/heartbeat.ts";
import { shipLogs } from "#worker/tasks/ship-logs.ts";
import { openTracer } from "./open-tracer.ts";
import { closeDataDir } from "./own-dirs.ts";
import { serveMetrics } from "./serve-metrics.ts";
import { type RunningWorker, startWorker } from "./start.ts";
import { startAgentService } from "./start-agent.ts";
import { type RunningPull, startPull } from "./start-pull.ts";
import { startUpdates } from "./start-update.ts";
import { EXIT_UPDATED } from "./update/launched.ts";
import { createSteadyVersion } from "./update/steady-version.ts";
import type { Updater } from "./update/updater.ts";
import { startStallWatchdog } from "./update/watchdog.ts";
import type { WorkerDeps } from "./worker-deps.ts";

/**
 * Starts what this worker is configured to serve: browser lanes with HUB_URL, pipeline tasks with SVC_CONTROL_URL, or
 * both in this one process. `stop` drains both at once. With SVC_AGENT it is only the host's agent.
 * @throws ConfigError when neither is set.
 */
export async function startServices(deps: WorkerDeps): Promise<RunningWorker> {
  const { config, log } = deps;
  closeDataDir(config.data_dir, log);
  const base = config.pipeline.control_url ?? config.hub_url;
  const shipped = base === null ? null : shipTo(base, deps);
  const shown = { ...deps, log: shipped?.log ?? log };
  const served = serveMetrics(shown);
  const tracer = openTracer(shown);
  const end = async () => {
    await tracer?.stop();
    await served.stop();
    await shipped?.stop();
  };
  try {
    const worker = await startChosen({
      ...shown,
      ...(served.metrics && { metrics: served.metrics }),
      ...(tracer && { tracer }),
    });
    const stop = async () => {
      await worker.stop();
      await end();
    };
    return { exited: worker.exited, stop };
  } catch (err) {
    await end();
    throw err;
  }
}

const shipTo = (base: string, { config, clock, log }: WorkerDeps) =>
  shipLogs({
    control_url: parseHubUrl(base).http,
    service: config.agent.enabled ? "agent" : "worker",
    secret: config.worker_secret,
    api_token: config.pipeline.api_token,
    clock,
    log,
    random: Math.random,
  });

async function startChosen(deps: WorkerDeps): Promise<RunningWorker> {
  const { hub_url, pipeline, agent } = deps.config;
  const { control_url } = pipeline;
  if (agent.enabled) return startAgentService(deps);
  if (control_url === null) {
    if (hub_url !== null) return startWorker(deps);
    throw new ConfigError(
      "HUB_URL (--hub-url) or SVC_CONTROL_URL (--control-url): a worker needs at least one of these",
    );
  }
  if (hub_url === null) return startPullAlone(deps, control_url);
  // First the lanes: if they cannot start, the process ends before it has taken a task.
  let pull: RunningPull | undefined;
  const drainOthers = async () => pull?.drain(deps.config.update.wait_ms);
  const fleet = await startWorker({ ...deps, drainOthers });
  try {
    const stop = async () => void (await Promise.all([fleet.stop(), pull?.stop()]));
    pull = await startPull(deps, control_url, () => void stop());
    return { exited: fleet.exited, stop };
  } catch (err) {
    await fleet.stop();
    throw err;
  }
}

/** A worker without lanes has no link whose silence could be seen, but its event loop can stall as well. */
async function startPullAlone(deps: WorkerDeps, control_url: string): Promise<RunningWorker> {
  const { config, clock, log } = deps;
  const exit = Promise.withResolvers<number>();
  const scope = createScope(log);
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= scope.close().finally(() => exit.resolve(0));
    return stopping;
  };
  const source = async () => `${parseHubUrl(control_url).http}/worker-source.tar.gz`;
  const onVersion = createSteadyVersion((version) => updater?.offered(version, source));
  let updater: Updater | undefined;
  let obeyed = "";
  const update: PullUpdate = {
    report: () => updater?.report() ?? null,
    obey: (order) => {
      const { target, go } = order;
      const text = JSON.stringify({ target, go });
      if (text === obeyed || !updater) return;
      obeyed = text;
      if (go) updater.offered(target, source);
      else updater.held(target);
    },
  };
  const pull = await startPull(deps, control_url, () => void stop(), {
    onVersion,
    update,
    onJoined: () => deps.onReady?.(`pulls tasks from ${control_url}`),
  });
  // It has no handshake: a version is judged by its tasks.
  deps.onRegistered?.();
  updater = startUpdates(deps, scope, log, {
    sessions: () => 0,
    drain: (_, until) => pull.drain(until - clock.monotonic()),
    exit: () => exit.resolve(EXIT_UPDATED),
  });
  scope.add(
    "stall watchdog",
    startStallWatchdog({ threshold_ms: config.watchdog.stall_ms, jitter_ms: 0, clock, log }),
    (w) => w.stop(),
  );
  scope.add("pull worker", pull, (p) => p.stop());
  return { stop, exited: exit.promise };
}
