import { shipOwnLogs } from "#hub/pipeline/operations/ship-own-logs.ts";
import { loadTls } from "#hub/platform/http/tls-files.ts";
import { openDataDir } from "#hub/platform/stores/data-dir.ts";
import { createScope } from "#shared/kit/scope.ts";
import { demandTick } from "./backups/backups.ts";
import type { HubDeps, RunningHub } from "./hub-deps.ts";
import { openControl } from "./open-control.ts";
import { openHub } from "./open-hub.ts";

export type { HubDeps, RunningHub } from "./hub-deps.ts";

/**
 * Starts a hub (with the control plane next to it), or the control plane alone in control mode.
 * @throws ConfigError naming the variable when a store cannot be opened, the port is taken, or no backup is ever due.
 */
export async function startHub(given: HubDeps): Promise<RunningHub> {
  // Before anything is opened, so that an unusable certificate or schedule is reported immediately.
  const { backup } = given.config;
  const tls = given.config.tls && loadTls(given.config.tls);
  if (backup !== null) demandTick(backup.schedule, given.clock.now());
  const deps = { ...given, ...shipOwnLogs(given), tls };
  const scope = createScope(deps.log);
  try {
    const { mode, data_dir } = deps.config;
    openDataDir(data_dir, { lets_through: mode === "dev", log: deps.log });
    return await (deps.config.mode === "control" ? openControl(deps, scope) : openHub(deps, scope));
  } catch (err) {
    await scope.close();
    throw err;
  }
}
