import { hostname } from "node:os";
import type { Clock } from "#shared/kit/clock.ts";
import { type Log, withSink } from "#shared/kit/log.ts";
import { BatchRefused, createLogShipper } from "#shared/kit/log-shipper.ts";
import { LogsShipped } from "#shared/protocol/schema/operations.ts";
import { createControlCall, isRefusal } from "./control-call.ts";

export interface ShipLogsDeps {
  /** Base of a control plane, or of a hub, which includes one. */
  control_url: string;
  /** The name of this process. */
  service: "worker" | "agent";
  secret: string | null;
  api_token: string | null;
  clock: Clock;
  log: Log;
  random: () => number;
}

export interface ShippedLog {
  /** Writes as before and also ships. */
  log: Log;
  /** Ships what is left. Idempotent. */
  stop(): Promise<void>;
}

/** Statuses that blame the batch itself. */
const FAULTY = new Set([400, 404, 405, 413, 415, 422]);

/**
 * Ships a worker's log to the control plane (rules/pipeline-operations#ship-logs), which may be away for any length of
 * time.
 */
export function shipLogs(deps: ShipLogsDeps): ShippedLog {
  const { service, secret, api_token, log } = deps;
  const secrets = () => [secret, api_token];
  const shipper = createLogShipper({ ...deps, host: hostname(), service, secrets });
  shipper.start(async (batch, signal) => {
    try {
      const call = createControlCall({ ...deps, signal });
      return LogsShipped.parse(await call("POST /api/v1/service-logs", { json: batch }));
    } catch (err) {
      if (isRefusal(err) && FAULTY.has(err.status))
        throw new BatchRefused(`HTTP ${err.status}: ${err.message}`);
      throw err;
    }
  });
  return { log: withSink(log, shipper.sink), stop: () => shipper.stop() };
}
