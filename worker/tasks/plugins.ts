import { stat } from "node:fs/promises";
import { join } from "node:path";
import { windUpWithin } from "#shared/kit/call-within.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { EXECUTORS } from "#shared/protocol/executors.ts";
import type { PluginRef, WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { controlHeaders, controlHttp } from "./control-call.ts";
import type { Executor } from "./executor.ts";
import { openPluginCache, type PluginCache, type PluginCacheDeps } from "./plugin-cache.ts";
import { type PluginStore, startPluginStore } from "./plugin-store.ts";

export interface PluginsDeps {
  control_url: string;
  secret: string | null;
  api_token: string | null;
  /** This worker's own directory. */
  dir: string;
  clock: Clock;
  log: Log;
  /** Ends every call. */
  signal: AbortSignal;
}

/** Creates the executor of a workload whose code is on this worker, with variables for its tasks' environment. */
type Make = (workload: WorkloadSettings, environment: Record<string, string>) => Promise<Executor>;

/** Plugins of the control plane on this worker (rules/pipeline-executors#where-the-code-is). */
export interface WorkerPlugins {
  /**
   * Creates an executor; if the workload runs a plugin, with the plugin's folder here and access to its state and
   * blobs.
   */
  createExecutor(workload: WorkloadSettings, make: Make): Promise<Executor>;
  close(): Promise<void>;
}

/** Time to fetch the largest plugin over a slow network. */
const FETCH_MS = 120_000;

export function createWorkerPlugins(deps: PluginsDeps): WorkerPlugins {
  const headers = controlHeaders(deps);
  const http = controlHttp(deps);
  const openArchive = async (slug: string, signal: AbortSignal) => {
    const given = { params: { slug }, signal, timeout_ms: FETCH_MS };
    try {
      const { body } = await http.open("GET /api/v1/plugins/{slug}/archive", given);
      if (body === null) throw new Error("the control plane sent no archive");
      return body;
    } catch (err) {
      throw new Error(`plugin ${slug}: ${errorMessage(err)}`, { cause: err });
    }
  };
  // Its body has the deadline too.
  const withArchive: PluginCacheDeps["withArchive"] = (slug, take) => {
    const limit = { what: `plugin ${slug}`, ms: FETCH_MS, signal: deps.signal };
    return windUpWithin(deps.clock, limit, async (signal) => take(await openArchive(slug, signal)));
  };
  // Opened for the first plugin, because most workers run none.
  let cache: Promise<PluginCache> | null = null;
  let store: PluginStore | null = null;

  const folderFor = async (ref: PluginRef) => {
    const { slug, sha256, error } = ref;
    if (sha256 === null) throw new Error(error ?? `plugin ${slug} cannot be run`);
    const dir = join(deps.dir, "plugins");
    cache ??= openPluginCache({ dir, log: deps.log, withArchive }).catch((err) => {
      // A full disk may have room next time.
      cache = null;
      throw err;
    });
    return (await cache).acquire({ slug, sha256 });
  };
  return {
    createExecutor: async (workload, make) => {
      const { plugin: ref, executor_config: config } = workload;
      if (!ref || !EXECUTORS[workload.executor_type].needs_plugin) return make(workload, {});
      store ??= startPluginStore({ ...deps, headers });
      const environment = { FLOTILLA_STORE_URL: store.urlFor(ref.slug) };
      const own = config.source_path;
      if (own !== undefined && (await exists(own)))
        return make(withFolder(own, "", workload), environment);
      const folder = await folderFor(ref);
      try {
        const fetched = withFolder(folder.path, ref.path, workload);
        const made = await make(fetched, { ...environment, FLOTILLA_PLUGIN_DIR: folder.path });
        return { ...made, close: () => made.close().finally(folder.release) };
      } catch (err) {
        await folder.release();
        throw err;
      }
    },
    close: async () => {
      await store?.stop();
    },
  };
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The workload with its code in `folder`. In a command's words `{plugin}` stands for the folder. */
function withFolder(folder: string, path: string, workload: WorkloadSettings): WorkloadSettings {
  const { argv, ...config } = workload.executor_config;
  const words = argv?.map((word) => word.replaceAll("{plugin}", folder));
  return {
    ...workload,
    executor_config: {
      ...config,
      source_path: join(folder, path),
      ...(words ? { argv: words } : {}),
    },
  };
}
