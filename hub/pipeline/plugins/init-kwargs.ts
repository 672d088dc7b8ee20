import { z } from "@hono/zod-openapi";
import { errorMessage, type Issue } from "#shared/kit/errors.ts";
import { pluginOf, type Runs } from "./of-workload.ts";
import type { Plugins } from "./plugin-folder.ts";

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

/** Which of a workload's init_kwargs break the rules of its plugin; checked before a worker sees them. */
export function initKwargsIssues(plugins: Plugins, workload: Runs): Issue[] {
  const plugin = pluginOf(plugins, workload);
  if (!plugin?.sha256) return [];
  const schema = plugins.get(plugin.slug)?.manifest?.executor?.init_schema;
  if (schema === undefined) return [];
  const { init_kwargs = {} } = workload.executor_config;
  const parsed = z.fromJSONSchema(schema).safeParse(init_kwargs);
  if (parsed.success) return [];
  return parsed.error.issues.slice(0, MAX_ISSUES).map(({ path, message, code = "invalid" }) => ({
    loc: [
      "body",
      "executor_config",
      "init_kwargs",
      ...path.map((part) => (typeof part === "number" ? part : String(part))),
    ],
    msg: message,
    type: code,
  }));
}
