import type { WorkloadSettings } from "#shared/protocol/schema/pull.ts";

/** Where a module executor finds its code: `source_path` is a directory or a file; null leaves it to the runtime. */
export interface ModuleSource {
  source_path: string | null;
  module: string | null;
}

/**
 * Decides where the code of a workload is on this worker (rules/pipeline-executors#where-the-code-is).
 * @throws when this worker does not have it; the workload's tasks are then given back without consuming an attempt.
 */
export async function resolveSource({
  executor_config: config,
}: WorkloadSettings): Promise<ModuleSource> {
  const source_path = config.source_path ?? null;
  const module = config.module ?? null;
  if (source_path === null && module === null)
    throw new Error(`plugin ${config.plugin} is not on this worker, and it has no source_path`);
  return { source_path, module };
}
