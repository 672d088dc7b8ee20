import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "#shared/kit/errors.ts";
import { createScope } from "#shared/kit/scope.ts";
import { workerIdFromAddress } from "#shared/protocol/ids.ts";
import { guardedTag, openDir } from "#worker/browser/lanes/scratch.ts";
import { LANE_TAG } from "#worker/browser/process/tagged.ts";
import { lanAddress } from "#worker/link/address.ts";
import { parseHubUrl } from "#worker/link/hub-url.ts";
import { addTaskReadings } from "#worker/metrics/task-meters.ts";
import type { WorkerMetrics } from "#worker/metrics/worker-metrics.ts";
import { createHostLoad } from "#worker/program/host-load.ts";
import { createProcessCpu } from "#worker/program/process-cpu.ts";
import type { TaskEnd } from "#worker/tasks/executor.ts";
import { createGpuSampler } from "#worker/tasks/gpu-sampler.ts";
import { readGpus } from "#worker/tasks/gpus.ts";
import { type PullDeps, startPullWorker } from "#worker/tasks/pull.ts";
import type { WorkerDeps } from "./worker-deps.ts";

export interface RunningPull {
  /** Stops claiming and lets running tasks end within `ms`. */
  drain(ms: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the part of a worker that pulls tasks (rules/pipeline-pull#what-a-worker-must-do). Its processes carry this
 * directory's tag: they end with this process, however it ends, and any that remain are ended before the first task is
 * claimed again.
 * @throws DataDirInUseError when another worker pulls tasks with this data directory.
 */
export async function startPull(
  deps: WorkerDeps,
  control_url: string,
  onStop: () => void,
  told: Pick<PullDeps, "onVersion" | "onJoined" | "update"> = {},
): Promise<RunningPull> {
  const { config, clock, version, metrics } = deps;
  const { pipeline, data_dir } = config;
  const control = parseHubUrl(control_url);
  const worker_id = config.worker_id ?? workerIdFromAddress(await lanAddress(control));
  const log = deps.log.child({ worker_id });
  const scope = createScope(log);
  try {
    const dir = join(data_dir, "pipeline");
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const { id } = scope.add("pipeline directory", await openDir(dir), (d) => d.close());
    const { tag } = scope.add("guardian of tasks", guardedTag(id, log), (g) => g.close());
    const load = createHostLoad({ data_dir, clock });
    const cpu = createProcessCpu({ clock });
    const gpus = createGpuSampler({ clock, log, read: () => readGpus(pipeline.environment.PATH) });
    const worker = startPullWorker({
      derived_id: config.worker_id === null,
      control_url: control.http,
      worker_id,
      version,
      dir,
      clock,
      log,
      onStop,
      tracer: deps.tracer,
      onTaskEnd: metrics && countTasks(metrics),
      ...told,
      slots: pipeline.slots,
      workloads: pipeline.workloads,
      secret: config.worker_secret,
      api_token: pipeline.api_token,
      environment: { ...pipeline.environment, [LANE_TAG]: `${tag}task` },
      // In hub and dev mode the control plane is served by a hub.
      fleet: {
        hub_url: config.hub_url === null ? control.http : parseHubUrl(config.hub_url).http,
        token: pipeline.api_token,
      },
      random: Math.random,
      load: async () => {
        const { cpu_percent, mem_percent } = await load.sample();
        return { cpu_percent: cpu(), host_cpu_percent: cpu_percent, mem_percent, gpus: gpus() };
      },
    });
    if (metrics) addTaskReadings(metrics.meters, worker.figures);
    scope.add("pull worker", worker, (w) => w.stop(config.drain_ms));
    log.info({ control: control.http, version, slots: pipeline.slots }, "pull worker started");
    return { drain: (ms) => worker.stop(ms), stop: () => scope.close() };
  } catch (err) {
    log.error({ err: errorMessage(err) }, "could not start the pull worker");
    await scope.close();
    throw err;
  }
}

/** Counts each attempt by how it ended. */
const countTasks = (metrics: WorkerMetrics) => {
  const { taskEnded } = metrics.tasks();
  return (workload: string, { outcome, duration_ms }: TaskEnd) =>
    taskEnded(workload, outcome.kind === "failed" ? outcome.outcome : outcome.kind, duration_ms);
};
