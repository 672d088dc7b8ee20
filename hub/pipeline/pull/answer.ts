import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import type { Want, WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import type { PipelineContext } from "../context.ts";
import { pluginOf, withPlugin } from "../plugins/of-workload.ts";
import type { Plugins } from "../plugins/plugin-folder.ts";
import { limitsOf } from "../queue/limits-of.ts";
import type { SlotTasks } from "./claims.ts";

/** Changes whenever the workload's settings or its plugin do. */
export function revisionOf(plugins: Plugins, workload: WorkloadRow): string {
  const plugin = pluginOf(plugins, workload);
  const version = plugin ? `.${plugin.sha256?.slice(0, 16) ?? "none"}` : "";
  return `${workload.workload_id}.${workload.updated_at}${version}`;
}

export const settingsOf = (plugins: Plugins, workload: WorkloadRow): WorkloadSettings => ({
  slug: workload.slug,
  revision: revisionOf(plugins, workload),
  executor_type: workload.executor_type,
  ...withPlugin(plugins, workload),
  batch_size: workload.batch_size,
  ...limitsOf(workload),
});

/**
 * The JSON of `Claimed`, without its closing brace. Written by hand because a task's `extra` is JSON text already, and
 * this is what the pipeline does most.
 */
export function claimedJson(
  plugins: Plugins,
  batches: readonly SlotTasks[],
  known: Record<string, string>,
): string {
  const unknown = new Map<string, WorkloadRow>();
  const parts = batches.map(({ workload, tasks, waited_ms }) => {
    const revision = revisionOf(plugins, workload);
    if (known[workload.slug] !== revision) unknown.set(workload.slug, workload);
    const { lease_ms, timeout_ms } = limitsOf(workload);
    const list = tasks.map(
      (t) =>
        `{"task_id":${t.task_id},"epoch":${t.epoch},"attempt":${t.attempt},"max_attempts":${t.max_attempts ?? workload.max_attempts},"pk":${JSON.stringify(t.pk)},"extra":${t.extra ?? "null"}${t.traceparent ? `,"traceparent":"${t.traceparent}"` : ""}}`,
    );
    return `{"workload":"${workload.slug}","revision":"${revision}","lease_ms":${lease_ms}${waited_ms ? `,"waited_ms":${waited_ms}` : ""},"timeout_ms":${timeout_ms},"tasks":[${list.join(",")}]}`;
  });
  const workloads = JSON.stringify(
    [...unknown.values()].map((workload) => settingsOf(plugins, workload)),
  );
  return `{"batches":[${parts.join(",")}],"workloads":${workloads}`;
}

/**
 * The workloads that a worker cannot run, without those whose settings it has not seen: a new revision is tried
 * immediately, whatever the old one did. A workload whose revision the worker does not report stays excluded.
 */
export const stillExcluded = (
  { pipeline }: Pick<PipelineContext, "pipeline">,
  { exclude, known }: Pick<Want, "exclude" | "known">,
): string[] =>
  exclude.filter((slug) => {
    const workload = pipeline.workloads.bySlug(slug);
    const tried = known[slug];
    return !workload || tried === undefined || tried === revisionOf(pipeline.plugins, workload);
  });
