import type { HubConfig } from "#hub/platform/config.ts";
import { type Check, ok, warn } from "./check.ts";
import { askOwn } from "./hub.ts";

/** Wrong tokens are answered as fast as they come, except at the login of browsers. */
const SHORT_TOKEN = 20;

/** Whom the hub or control plane of this machine lets in. */
export async function checkAccess(
  config: Pick<HubConfig, "port" | "host" | "tls" | "api_token" | "worker_secret">,
): Promise<Check> {
  const name = "tokens";
  const { api_token, worker_secret } = config;
  if (api_token !== null && api_token.length < SHORT_TOKEN)
    return warn(
      name,
      `SVC_API_TOKEN has ${api_token.length} characters, which can be guessed`,
      "SVC_API_TOKEN=$(openssl rand -hex 32)",
    );
  const answer = await askOwn(config, "/ui/caller");
  if (answer === null) return ok(name, "it does not run here now");
  if (answer.ok)
    return warn(
      name,
      "nobody is asked for a token: whoever reaches it may steer browsers and run commands at workers",
      "flotilla tokens create NAME admin; or set SVC_API_TOKEN",
    );
  if (worker_secret === null)
    return warn(
      name,
      "people are asked for a token, workers for nothing",
      "set WORKER_SECRET, the same at hubs and workers",
    );
  return ok(name, "people are asked for a token, workers for a secret");
}
