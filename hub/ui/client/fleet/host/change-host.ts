import type { Host, PutHost } from "#shared/protocol/schema/host.ts";
import { call } from "../../lib/http.ts";

/**
 * Replaces parts of a host's settings: everything else is sent as it is now. Cookies are left out, so that they stay.
 * @throws FlotillaError with the API's issues.
 */
export async function changeHost(
  host: string,
  change: (now: Host) => Partial<PutHost>,
): Promise<Host> {
  const now = await call("GET /hosts/{host}", { params: { host } });
  const { recipes, login_recipe, popup_policy, notes, record } = now;
  return call("PUT /hosts/{host}", {
    params: { host },
    json: { recipes, login_recipe, popup_policy, notes, record, ...change(now) },
  });
}

/** A recipe has no name but its place: whether it is still the one that was read. @throws Error when it is not. */
export function sameRecipe(now: Host, index: number, read: unknown): void {
  if (JSON.stringify(now.recipes[index]) !== JSON.stringify(read))
    throw new Error(
      "Somebody else has changed this host's recipes in the meantime. Copy your JSON, reopen the recipe and paste it in.",
    );
}
