import type { HubConfig } from "#hub/platform/config.ts";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import { createHubClient } from "../../cli/hub-client.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const HUB_MS = 5_000;

/** How the workers' updates go, as this machine's hub reports; a hub that does not run reports nothing. */
export async function checkUpdates({
  port,
  api_token,
}: Pick<HubConfig, "port" | "api_token">): Promise<Check> {
  const name = "worker updates";
  const client = createHubClient(`http://127.0.0.1:${port}`, api_token ?? undefined);
  const answer = await client.call("GET", "/api/v1/updates", undefined, HUB_MS).catch(() => null);
  if (answer?.status === 401)
    return ok(name, "not asked: the hub asks for a token, and SVC_API_TOKEN is none here");
  if (answer?.status !== 200)
    return ok(name, "not asked: no hub of this version answers on this machine");
  const { state, detail, target, workers } = answer.body as FleetUpdates;
  if (state === "stopped")
    return fail(
      name,
      detail,
      `flotilla fleet status; then a hub version that works, or flotilla fleet approve ${target ?? ""}`.trim(),
    );
  const off = workers.filter(({ update }) => update.state === "off" || update.state === "failed");
  if (state === "paused" || state === "waiting_for_hubs" || state === "waiting_for_approval")
    return warn(name, detail, "flotilla fleet status says who waits");
  if (off.length > 0)
    return warn(
      name,
      off
        .map(({ worker_id, update }) => `${worker_id}: ${update.error ?? update.state}`)
        .join("; "),
      `install version ${target ?? "of the hub"} there, or let it update itself`,
    );
  return ok(name, detail);
}
