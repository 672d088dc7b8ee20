import { relative, sep } from "node:path";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import type { PluginRef, WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { moduleIn, ownPlugin } from "../code/code-plugin.ts";
import type { Plugins } from "./plugin-folder.ts";

/** What names a workload's code. */
export type Runs = Pick<WorkloadRow, "executor_type" | "executor_config"> &
  Partial<Pick<WorkloadRow, "workload_id" | "code_sha256">>;

/**
 * The plugin a workload runs: the one it names (`executor_config.plugin`), or the one whose folder here its `source_path`
 * names or lies in, as GET /plugins/available shows it; or the one that is made of its own code. Undefined when its code
 * belongs to no plugin.
 */
export function pluginOf(plugins: Plugins, workload: Runs): PluginRef | undefined {
  const own = ownPlugin(workload);
  if (own) return own;
  const { executor_type, executor_config } = workload;
  const { plugin: named, source_path } = executor_config;
  if (named === undefined && source_path === undefined) return undefined;
  const inside = source_path === undefined ? null : pathInside(plugins.dir, source_path);
  const [folder, ...rest] = inside?.split(sep) ?? [];
  // A source_path elsewhere is on the workers themselves.
  const slug = named ?? folder;
  if (slug === undefined) return undefined;
  const path = folder === slug ? rest.join("/") : "";
  const found = plugins.get(slug);
  const broken = (error: string) => ({ slug, path, sha256: null, error });
  if (!found) return broken(`the control plane has no plugin ${slug}`);
  if (found.sha256 === null) return broken(`plugin ${slug}: ${found.errors.join("; ")}`);
  const type = found.manifest?.executor?.type;
  if (type !== undefined && type !== executor_type)
    return broken(`plugin ${slug} is of type ${type}, not ${executor_type}`);
  return { slug, path, sha256: found.sha256, error: null };
}

function pathInside(dir: string, path: string): string | null {
  if (!path.startsWith(dir)) return null;
  const inside = relative(dir, path);
  return inside === "" || inside === ".." || inside.startsWith(`..${sep}`) ? null : inside;
}

/** The workload's configuration over what its plugin's manifest says, and which version of the plugin that is. */
export function withPlugin(
  plugins: Plugins,
  workload: Runs,
): Pick<WorkloadSettings, "executor_config" | "plugin"> {
  const { executor_config } = workload;
  const plugin = pluginOf(plugins, workload);
  if (!plugin) return { executor_config };
  if (ownPlugin(workload))
    return {
      executor_config: { ...executor_config, ...moduleIn(workload.executor_type) },
      plugin,
    };
  const { module, argv, options, fleet } = plugins.get(plugin.slug)?.manifest?.executor ?? {};
  const merged = { ...options, ...executor_config.options };
  return {
    executor_config: {
      ...(module === undefined ? {} : { module }),
      ...(argv === undefined ? {} : { argv }),
      ...(fleet === undefined ? {} : { fleet }),
      ...executor_config,
      ...(Object.keys(merged).length > 0 ? { options: merged } : {}),
    },
    plugin,
  };
}
