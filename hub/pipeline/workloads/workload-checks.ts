import { isDeepStrictEqual } from "node:util";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { AppError, type Issue } from "#shared/kit/errors.ts";
import type { PipelineContext } from "../context.ts";
import { initKwargsIssues } from "../plugins/init-kwargs.ts";
import { pluginOf, type Runs } from "../plugins/of-workload.ts";

/** The names in a workload's settings that may not exist. */
type Named = Runs & Pick<WorkloadRow, "emits">;

/**
 * Checks the names in a workload's settings: its plugin, that plugin's init_kwargs, the workloads it emits to.
 * `stored`: the settings being replaced. What they already name may stay even if it is gone, so that a workload whose
 * plugin or target was removed can still be edited, and what was read can be written back.
 * @throws AppError invalid naming each name that is unknown and each kwarg that breaks a rule; unavailable when the
 *   plugins directory cannot be read
 */
export async function checkNames(
  ctx: Pick<PipelineContext, "pipeline" | "db">,
  slug: string,
  settings: Named,
  stored: Named | null = null,
): Promise<void> {
  const issues = [
    ...(await pluginIssues(ctx, settings, stored)),
    ...(await emitIssues(ctx, slug, settings, stored)),
  ];
  if (issues.length > 0) throw new AppError("invalid", issues);
}

async function pluginIssues(
  { pipeline: { plugins } }: Pick<PipelineContext, "pipeline">,
  settings: Runs,
  stored: Runs | null,
): Promise<Issue[]> {
  const { plugin: named, source_path } = settings.executor_config;
  if (named === undefined && source_path === undefined) return [];
  // It may have been added or changed since this process last looked.
  const unreadable = await plugins.refresh().then(
    () => null,
    (err: unknown) => err,
  );
  const error = pluginOf(plugins, settings)?.error;
  if (!error) return initKwargsIssues(plugins, settings);
  if (stored && isDeepStrictEqual(codeOf(settings), codeOf(stored))) return [];
  if (unreadable !== null)
    throw new AppError("unavailable", "the plugins directory cannot be read", {
      cause: unreadable,
    });
  const field = named === undefined ? "source_path" : "plugin";
  return [{ loc: ["body", "executor_config", field], msg: error, type: "invalid" }];
}

const codeOf = ({ executor_type, executor_config: { plugin, source_path } }: Runs) => ({
  executor_type,
  plugin,
  source_path,
});

/** A workload may emit to itself. */
async function emitIssues(
  { db }: Pick<PipelineContext, "db">,
  slug: string,
  { emits }: Named,
  stored: Named | null,
): Promise<Issue[]> {
  const unsure = emits.filter((to) => to !== slug && !stored?.emits.includes(to));
  if (unsure.length === 0) return [];
  const slugs = new Set((await db.workloads.list()).map((row) => row.slug));
  return emits.flatMap((to, i) =>
    unsure.includes(to) && !slugs.has(to)
      ? [{ loc: ["body", "emits", i], msg: `there is no workload ${to}`, type: "invalid" }]
      : [],
  );
}
