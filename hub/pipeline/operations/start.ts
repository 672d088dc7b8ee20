import { ensureAdminPassword } from "#hub/platform/access/admin.ts";
import type { HubConfig } from "#hub/platform/config.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { LogShipper } from "#shared/kit/log-shipper.ts";
import { addLoop } from "#shared/kit/loop.ts";
import type { Scope } from "#shared/kit/scope.ts";
import { createRestartDesk } from "../agents/restarts.ts";
import { createDeployDesk } from "./deploy.ts";
import type { Operations } from "./operations.ts";
import { pruneLogsOnce, storeLogs } from "./service-logs.ts";

export interface OperationsDeps {
  db: Pick<Db, "settings" | "service_logs" | "deploys" | "pull_workers" | "worker_restarts">;
  config: HubConfig;
  clock: Clock;
  log: Log;
  shipper: LogShipper;
}

const HOUSEKEEPING_EVERY_MS = 60_000;

/**
 * Opens them over the database, which must be closed right after them, so that what the rest of the process logs while
 * it stops is still stored. Deploys that a dead process left behind are marked as interrupted first.
 */
export async function openOperations(deps: OperationsDeps, scope: Scope): Promise<Operations> {
  const { db, config, clock, log } = deps;
  const { settings } = db;
  scope.add("log shipper", deps.shipper, (s) => s.stop());
  deps.shipper.start((batch) => storeLogs(deps, batch));
  const password = config.admin_password;
  const makes_password = config.mode === "dev" && password === null;
  const new_password = makes_password ? await ensureAdminPassword(settings, clock.now()) : null;
  const deploys = scope.add("deploys", createDeployDesk(deps), (d) => d.stop());
  const restarts = scope.add("restarts", createRestartDesk(deps), (d) => d.stop());
  await deploys.sweepOnce();
  addLoop(scope, {
    name: "housekeeping",
    everyMs: HOUSEKEEPING_EVERY_MS,
    clock,
    log,
    pass: async (signal) => {
      await pruneLogsOnce(deps, signal);
      await deploys.sweepOnce();
    },
  });
  return { deploys, restarts, new_password };
}
