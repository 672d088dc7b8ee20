import { RunExtras } from "#shared/link/messages.ts";
import type { HubContext } from "../context.ts";
import type { JobRow } from "../db/types.ts";

/** What the registries add to a run (fleet spec §2.7, §2.8, §4.5): recipe, login, cookies, secrets, profile. */
export async function runExtras(_ctx: HubContext, _row: JobRow): Promise<RunExtras> {
  return RunExtras.parse({});
}
