import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { RUNTIME_FLAGS } from "#shared/kit/runtime-flags.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import type { ExecutorType } from "#shared/protocol/schema/workload.ts";
import bunRunner from "./bun-runner.ts" with { type: "text" };
import { createCommandExecutor } from "./command-executor.ts";
import type { Executor } from "./executor.ts";
import { createFleetExecutor } from "./fleet-executor.ts";
import storePy from "./flotilla_store.py" with { type: "text" };
import bunStore from "./flotilla-store.ts" with { type: "text" };
import { MIB } from "./memory.ts";
import { createModuleExecutor } from "./module-executor.ts";
import runnerPy from "./runner.py" with { type: "text" };
import { resolveSource } from "./source-path.ts";
import { type FleetAddress, openTaskFleet } from "./task-fleet.ts";

export interface ExecutorDeps {
  clock: Clock;
  log: Log;
  /** This worker's own directory. */
  dir: string;
  /** The part of the worker's environment that tasks see: never one of the worker's secrets. */
  environment: Record<string, string>;
  /** Where fleet_fetch finds its hub unless the workload names one. */
  fleet?: FleetAddress;
}

/**
 * Where Python is found when the workload does not say. A bun_module needs no other program: this executable is its
 * interpreter.
 */
const PYTHON = "python3";

/** What every kind of executor is given. */
interface Shared {
  clock: Clock;
  log: Log;
  cwd: string;
  environment: Record<string, string>;
  memory_bytes: number | null;
}
type Make = (deps: ExecutorDeps, workload: WorkloadSettings, shared: Shared) => Promise<Executor>;

/** How the tasks of each kind run (rules/pipeline-executors#executor-types). */
const MAKE: Record<ExecutorType, Make> = {
  command: async (_, { executor_config: { argv = [] } }, shared) =>
    createCommandExecutor({ ...shared, argv }),
  python_module: async ({ dir }, workload, shared) => {
    const runner = await runnerFile(dir, "runner.py", runnerPy, { "flotilla_store.py": storePy });
    return createModuleExecutor({
      ...shared,
      ...(await moduleOf(workload)),
      program: workload.executor_config.python ?? PYTHON,
      args: ["-u", runner],
    });
  },
  bun_module: async ({ dir }, workload, shared) => {
    const runner = await runnerFile(dir, "runner.ts", bunRunner, { "flotilla-store.ts": bunStore });
    return createModuleExecutor({
      ...shared,
      ...(await moduleOf(workload)),
      environment: { ...shared.environment, BUN_BE_BUN: "1" },
      program: process.execPath,
      args: [...RUNTIME_FLAGS, runner],
    });
  },
  fleet_fetch: async (deps, workload, { clock, log }) => {
    const options = workload.executor_config.options ?? {};
    return createFleetExecutor({ clock, log, ...fleetOf(deps, workload), options });
  },
};

/** The executor of a workload for one slot. @throws when this worker cannot run its type. */
export async function createExecutor(
  deps: ExecutorDeps,
  workload: WorkloadSettings,
): Promise<Executor> {
  const { executor_type, executor_config: config, slug } = workload;
  const cwd = join(deps.dir, "workloads", slug);
  await mkdir(cwd, { recursive: true });
  const { clock, log } = deps;
  const fleet = config.fleet ? openTaskFleet(fleetOf(deps, workload)) : null;
  const environment = {
    ...deps.environment,
    FLOTILLA_WORKLOAD: slug,
    ...(fleet && { FLOTILLA_FLEET_URL: fleet.url }),
    ...config.env,
  };
  const memory_bytes = config.memory_mb === undefined ? null : config.memory_mb * MIB;
  const shared = { clock, log: log.child({ workload: slug }), cwd, environment, memory_bytes };
  try {
    const made = await MAKE[executor_type](deps, workload, shared);
    return fleet ? { ...made, close: () => made.close().finally(fleet.stop) } : made;
  } catch (err) {
    await fleet?.stop();
    throw err;
  }
}

const moduleOf = async (workload: WorkloadSettings) => {
  const { init_kwargs = {}, recycle_after = null } = workload.executor_config;
  return { init: { ...(await resolveSource(workload)), init_kwargs }, recycle_after };
};

/** The worker's token is for its own hub: a workload that names another hub gets no token. */
function fleetOf({ fleet }: ExecutorDeps, { executor_config }: WorkloadSettings): FleetAddress {
  const { hub_url } = executor_config;
  if (hub_url !== undefined && hub_url !== fleet?.hub_url) return { hub_url, token: null };
  if (!fleet) throw new Error("this worker knows no hub, and the workload names none (hub_url)");
  return fleet;
}

/** The runners are inside the executable; the interpreters need a file, so that tracebacks can show its lines. */
async function runnerFile(
  dir: string,
  name: string,
  text: string,
  beside: Record<string, string>,
): Promise<string> {
  for (const [file, its] of Object.entries({ ...beside, [name]: text }))
    await putFile(join(dir, file), its);
  return join(dir, name);
}

/** Atomic: another slot's interpreter may be reading it, and finds either the old file or the new one. */
async function putFile(path: string, text: string): Promise<void> {
  const temp = `${path}.${newToken()}`;
  await writeFile(temp, text);
  await rename(temp, path);
}
