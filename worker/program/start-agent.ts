import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { ConfigError } from "#shared/kit/env.ts";
import { createScope } from "#shared/kit/scope.ts";
import { openDir } from "#worker/browser/lanes/scratch.ts";
import { parseHubUrl } from "#worker/link/hub-url.ts";
import { startAgent } from "#worker/tasks/agent/agent.ts";
import { createGpuSampler } from "#worker/tasks/gpu-sampler.ts";
import { readGpus } from "#worker/tasks/gpus.ts";
import type { RunningWorker } from "./start.ts";
import type { WorkerDeps } from "./worker-deps.ts";

/** Added to an instance's own drain: time for its tasks' processes to end. */
const TERM_GRACE_MS = 15_000;
/** Less than the program itself may take to stop. */
const MAX_TERM_MS = 50_000;

/**
 * Starts the agent of this host (rules/pipeline-agents#what-an-agent-does): it runs no task itself.
 * @throws ConfigError without SVC_CONTROL_URL; DataDirInUseError when another agent uses the data directory.
 */
export async function startAgentService(deps: WorkerDeps): Promise<RunningWorker> {
  const { config, clock, log, version, self } = deps;
  const { pipeline, agent } = config;
  if (pipeline.control_url === null)
    throw new ConfigError("SVC_AGENT (--agent): needs SVC_CONTROL_URL (--control-url)");
  if (self === undefined) throw new Error("an agent must know how to start this program");
  const exit = Promise.withResolvers<number>();
  const scope = createScope(log);
  try {
    const dir = join(config.data_dir, "agent");
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    scope.add("agent directory", await openDir(dir), (d) => d.close());
    const gpus = createGpuSampler({ clock, log, read: () => readGpus(agent.environment.PATH) });
    const running = await startAgent({
      control_url: parseHubUrl(pipeline.control_url).http,
      host: hostname(),
      secret: config.worker_secret,
      api_token: pipeline.api_token,
      version,
      dir,
      clock,
      log,
      command: [...self, "worker"],
      flags: [`--log-level=${config.log_level}`, `--log-format=${config.log_format}`],
      environment: agent.environment,
      term_ms: Math.min(config.drain_ms + TERM_GRACE_MS, MAX_TERM_MS),
      readGpus: async () => gpus(),
      onAnswered: () => deps.onReady?.(`takes orders from ${pipeline.control_url}`),
    });
    scope.add("agent", running, (a) => a.stop());
  } catch (err) {
    await scope.close();
    throw err;
  }
  let stopping: Promise<void> | undefined;
  const stop = () => scope.close().finally(() => exit.resolve(0));
  return {
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
    exited: exit.promise,
  };
}
