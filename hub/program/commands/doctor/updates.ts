import type { HubConfig } from "#hub/platform/config.ts";
import { FlotillaError } from "#shared/client/errors.ts";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import { createHubClient } from "../../cli/hub-client.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const HUB_MS = 5_000;

/** How the workers' updates progress, as this machine's hub reports it; a hub that does not run reports nothing. */
export async function checkUpdates({
  port,
  api_token,
}: Pick<HubConfig, "port" | "api_token">): Promise<Check> {
  const name = "worker updates";
  const client = createHubClient(`http://127.0.0.1:${port}`, api_token ?? undefined);
  let found: FleetUpdates;
  try {
    found = await client.call("GET /api/v1/updates", { timeout_ms: HUB_MS });
  } catch (err) {
    if (err instanceof FlotillaError && err.status === 401)
      return ok(name, "not checked: the hub requires a token, and SVC_API_TOKEN is not set here");
    return ok(name, "not checked: no hub of this version answers on this machine");
  }
  const { state, detail, target, workers } = found;
  if (state === "stopped")
    return fail(
      name,
      detail,
      `see flotilla fleet status; then install a working version on the hubs, or run flotilla fleet approve ${target ?? ""}`.trim(),
    );
  const off = workers.filter(({ update }) => update.state === "off" || update.state === "failed");
  if (state === "paused" || state === "waiting_for_hubs" || state === "waiting_for_approval")
    return warn(name, detail, "see flotilla fleet status for who is waiting");
  if (off.length > 0)
    return warn(
      name,
      off
        .map(({ worker_id, update }) => `${worker_id}: ${update.error ?? update.state}`)
        .join("; "),
      `install version ${target ?? "of the hub"} there, or let the worker update itself`,
    );
  return ok(name, detail);
}
