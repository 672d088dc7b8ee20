import { invalid } from "#shared/kit/errors.ts";
import type { WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import type { CheckDraft, ExecutorConfig, ExecutorType } from "#shared/protocol/schema/workload.ts";
import type { PipelineContext } from "../context.ts";
import { withPlugin } from "../plugins/of-workload.ts";
import { checkNames } from "../workloads/workload-checks.ts";
import { draftKey, draftPlugin, hashesOf, moduleIn, runsText } from "./code-plugin.ts";

/** Settings that a worker tries and nobody has saved, as they wait for it in the key-value store. */
export interface Draft {
  executor_type: ExecutorType;
  executor_config: ExecutorConfig;
  code: string | null;
}

/** No workload has this name, so what a worker finds is never taken for a workload's. */
export const DRAFT_SLUG = "~draft";

/** What a worker is given to try. @throws AppError invalid when it names a plugin or a version that is not there */
export async function readDraft(
  ctx: Pick<PipelineContext, "db" | "pipeline">,
  wanted: CheckDraft,
): Promise<Draft> {
  const { executor_type, slug } = wanted;
  const { code, code_version, ...executor_config } = wanted.executor_config;
  const draft: Draft = { executor_type, executor_config, code: code ?? null };
  if (code === undefined && code_version !== undefined) {
    const row = slug === undefined ? null : await ctx.db.workloads.get(slug);
    const version = row && (await ctx.db.workload_versions.get(row.workload_id, code_version));
    if (version?.executor_type !== executor_type)
      throw invalid(
        ["body", "executor_config", "code_version"],
        `${slug ?? "a new workload"} has no version ${code_version} of such code`,
      );
    draft.code = version.code;
  }
  await checkNames(ctx, slug ?? DRAFT_SLUG, { executor_type, executor_config, emits: [] });
  return draft;
}

/** A draft as its worker hears of it; afterwards the worker can fetch its code. */
export async function draftSettings(
  { kv, pipeline }: Pick<PipelineContext, "kv" | "pipeline">,
  { executor_type, executor_config, code }: Draft,
  { worker_id, check_id, ttl_ms }: { worker_id: string; check_id: string; ttl_ms: number },
): Promise<WorkloadSettings> {
  const rest = {
    slug: DRAFT_SLUG,
    revision: `draft.${check_id}`,
    executor_type,
    batch_size: 1,
    lease_ms: 60_000,
    timeout_ms: null,
  };
  if (code === null || !runsText(executor_type))
    return { ...rest, ...withPlugin(pipeline.plugins, { executor_type, executor_config }) };
  const plugin = draftPlugin(worker_id);
  await kv.set(draftKey(plugin), { executor_type, code }, ttl_ms);
  const { plugin_sha256 } = hashesOf({ executor_type, code });
  return {
    ...rest,
    executor_config: { ...executor_config, ...moduleIn(executor_type) },
    plugin: { slug: plugin, path: "", sha256: plugin_sha256, error: null },
  };
}
