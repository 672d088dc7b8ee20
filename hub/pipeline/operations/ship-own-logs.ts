import { hostname } from "node:os";
import type { HubConfig } from "#hub/platform/config.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { type Log, withSink } from "#shared/kit/log.ts";
import { createLogShipper, type LogShipper } from "#shared/kit/log-shipper.ts";
import { ownSecrets } from "./service-logs.ts";

export interface OwnLogs {
  /** Written and shipped. */
  log: Log;
  /** Written only: one line per call means thousands a second, which would leave no room for the rest. */
  access_log: Log;
  shipper: LogShipper;
}

/**
 * The logger of a hub or control plane whose lines become service logs once the database is open
 * (rules/pipeline-operations#service-logs).
 */
export function shipOwnLogs(given: { config: HubConfig; clock: Clock; log: Log }): OwnLogs {
  const shipper = createLogShipper({
    host: hostname(),
    service: given.config.mode === "control" ? "control" : "hub",
    secrets: () => ownSecrets(given),
    clock: given.clock,
    log: given.log,
    random: Math.random,
  });
  return { log: withSink(given.log, shipper.sink), access_log: given.log, shipper };
}
