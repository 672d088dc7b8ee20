import type { HubConfig } from "#hub/platform/config.ts";
import { type Check, ok, warn } from "./check.ts";
import { askOwn } from "./hub.ts";

/** Only the browser login is slowed down after wrong tokens. */
const SHORT_TOKEN = 20;

/** Checks whom the hub or control plane of this machine lets in. */
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
  // One that is made of the token is longer.
  if (worker_secret !== null && worker_secret.length < SHORT_TOKEN)
    return warn(
      name,
      `WORKER_SECRET has ${worker_secret.length} characters, which can be guessed`,
      "WORKER_SECRET=$(openssl rand -hex 32), the same at hubs and workers",
    );
  const answer = await askOwn(config, "/ui/caller");
  if (answer === null) return ok(name, "it is not running here now");
  if (answer.ok)
    return warn(
      name,
      "no token is required: anybody who reaches it can steer browsers and run commands on workers",
      "run flotilla tokens create NAME admin, or set SVC_API_TOKEN",
    );
  if (worker_secret === null)
    return warn(
      name,
      "people need a token, workers need nothing",
      "set the same WORKER_SECRET on hubs and workers",
    );
  return ok(name, "people need a token, workers need the secret");
}
