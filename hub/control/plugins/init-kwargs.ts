import { z } from "@hono/zod-openapi";
import { AppError, errorMessage, type Issue } from "#shared/errors.ts";
import type { WorkloadRow } from "../../db/types.ts";
import { pluginOf } from "./of-workload.ts";
import type { Plugins } from "./registry.ts";

const MAX_ISSUES = 50;

/** What is wrong with a manifest's init_schema; null when it can be used. */
export function schemaProblem(init_schema: Record<string, unknown>): string | null {
  try {
    z.fromJSONSchema(init_schema);
    return null;
  } catch (err) {
    return errorMessage(err);
  }
}

/**
 * Judges a workload's init_kwargs by what its plugin asks for, before a worker meets them.
 * @throws AppError invalid naming each that breaks a rule
 */
export async function checkInitKwargs(
  plugins: Plugins,
  workload: Pick<WorkloadRow, "executor_type" | "executor_config">,
): Promise<void> {
  const { plugin: named, source_path } = workload.executor_config;
  // It may have come, or changed, since this process looked last; a folder that cannot be read is told by the loop.
  if (named !== undefined || source_path !== undefined) await plugins.refresh().catch(() => {});
  const plugin = pluginOf(plugins, workload);
  if (!plugin?.sha256) return;
  const schema = plugins.get(plugin.slug)?.manifest?.executor?.init_schema;
  if (schema === undefined) return;
  const { init_kwargs = {} } = workload.executor_config;
  const parsed = z.fromJSONSchema(schema).safeParse(init_kwargs);
  if (parsed.success) return;
  const issues = parsed.error.issues.slice(0, MAX_ISSUES).map(
    ({ path, message, code = "invalid" }): Issue => ({
      loc: [
        "body",
        "executor_config",
        "init_kwargs",
        ...path.map((part) => (typeof part === "number" ? part : String(part))),
      ],
      msg: message,
      type: code,
    }),
  );
  throw new AppError("invalid", issues);
}
