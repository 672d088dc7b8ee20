import { ConfigError } from "#shared/kit/env.ts";
import { UsageError } from "../../cli/exit.ts";
import { loadConfig } from "../../variables/load.ts";
import type { Role } from "./roles.ts";

/**
 * Reads `values` as the service will at its start.
 * @throws UsageError with what the service itself would refuse; `path` is the file that is then not written.
 */
export function judgeValues(role: Role, values: Record<string, string>, path: string): void {
  try {
    loadConfig(role, { env: values });
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err;
    throw new UsageError(
      `${err.message}\nnothing was changed, because the service would refuse ${path}`,
    );
  }
}

/** @throws UsageError if `values` lack something that every start needs. */
export function judgeStart(role: Role, values: Record<string, string>): void {
  if (role !== "worker" || values.HUB_URL || values.SVC_CONTROL_URL) return;
  throw new UsageError(
    "--now: a worker needs --hub-url ws://HOST:8000 for browsers, --control-url http://HOST:8000 for tasks, or both",
  );
}
