import type { JobRow } from "#hub/platform/db/rows.ts";
import { invalid } from "#shared/kit/errors.ts";
import type { JobOptions } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import type { FleetCountContext } from "../links/link-contexts.ts";
import { isAlive, readFleet } from "../links/view.ts";
import type { WorkerLink } from "../links/worker-link.ts";

/**
 * `clone_chrome_profile` (rules/jobs#copy-the-operators-profile) is for a hub and a browser on one host: the profile is
 * the operator's, and a hub must not reach into the home directories of other machines.
 */

const FIELD = ["body", "options", "clone_chrome_profile"];
/** A profile's directory or display name, optionally with the browser's directory before it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are exactly what is refused
const NAME = /^([a-z-]{1,40}\/)?[^/\\\u0000-\u001f\u007f]{1,100}$/;

/** Which workers of this hub may run the job; null when any may. */
export const workersFor = ({ options }: JobRow): ((link: WorkerLink) => boolean) | null =>
  options.clone_chrome_profile === null ? null : (link) => link.on_hub_host;

/** Whether a worker on the host of its hub is connected, to this hub or to another of the fleet. */
export async function hasLocalWorker(
  ctx: FleetCountContext & Pick<FleetContext, "cluster">,
): Promise<boolean> {
  for (const link of ctx.links.values()) if (!link.closed && link.on_hub_host) return true;
  if (ctx.cluster.peers.size === 0) return false;
  return (await readFleet(ctx)).some((entry) => entry.on_hub_host && isAlive(ctx, entry));
}

/**
 * @throws AppError invalid when the name is not valid, or no such worker is connected; unavailable when the other hubs'
 *   workers are not known.
 */
export async function checkClone(
  ctx: FleetCountContext & Pick<FleetContext, "cluster">,
  { clone_chrome_profile: name }: JobOptions,
): Promise<void> {
  if (name === null) return;
  const last = name.split("/").at(-1);
  if (!NAME.test(name) || last === "." || last === "..")
    throw invalid(FIELD, 'must name a profile, such as "Default" or "chromium/Profile 1"');
  if (!(await hasLocalWorker(ctx)))
    throw invalid(
      FIELD,
      "needs a worker on the hub's own host, and none is connected",
      "local_only",
    );
}
