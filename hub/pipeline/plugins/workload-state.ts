import type { OwnState } from "#hub/platform/db/pipeline-types.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { pluginOf } from "./of-workload.ts";
import type { Plugins } from "./plugin-folder.ts";

/** Writes each key as `<slug of the workload>/…` (rules/pipeline-crawl#what-a-crawl-keeps); other plugins name theirs as they like. */
const CRAWL = "crawl";

/** The state of its plugin that belongs to this workload alone, and goes with it; undefined when there is none. */
export const ownState = (
  plugins: Plugins,
  workload: Pick<WorkloadRow, "slug" | "executor_type" | "executor_config">,
): OwnState | undefined =>
  pluginOf(plugins, workload)?.slug === CRAWL
    ? { plugin: CRAWL, workload: workload.slug }
    : undefined;
