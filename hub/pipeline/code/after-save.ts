import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { MAX_VERSIONS } from "#shared/protocol/schema/workload-code.ts";
import type { PipelineContext } from "../context.ts";
import { tryExecutor } from "../pull/checks.ts";

/** Longer than the heartbeat that a worker hears of it with, and the time that a module has to load. */
const TRY_S = 75;

/**
 * Has a worker load the code now, whether or not tasks wait for it, so that code that does not load is told within
 * seconds (rules/pipeline-code#a-new-version-is-tried-at-once). Nobody waits for it.
 */
export function tryCode(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "db" | "kv" | "log" | "pipeline">,
  slug: string,
): void {
  void tryExecutor(ctx, slug, TRY_S, ctx.pipeline.stopping).catch((err) => {
    if (!ctx.pipeline.stopping.aborted)
      ctx.log.warn({ workload: slug, err: errorMessage(err) }, "could not have new code tried");
  });
}

/**
 * A version was made: the oldest one goes when there are too many, and a worker tries the new one. Whoever saved is
 * answered when the oldest one is gone, so that the next call finds no version too many.
 */
export async function afterSave(
  ctx: Pick<PipelineContext, "clock" | "wall_jumps" | "db" | "kv" | "log" | "pipeline">,
  row: WorkloadRow,
): Promise<void> {
  const { workload_id, slug, code_version } = row;
  ctx.log.info({ workload: slug, version: code_version }, "new version of its code");
  if (row.enabled) tryCode(ctx, slug);
  if (code_version <= MAX_VERSIONS) return;
  await ctx.db.workload_versions
    .prune(workload_id, code_version - MAX_VERSIONS)
    .catch((err) => ctx.log.warn({ err: errorMessage(err) }, "old versions were not deleted"));
}
