import { isInert } from "#hub/platform/http/inert-types.ts";
import type { FinalState } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import type { JobLane } from "../links/worker-link.ts";

/** An icon that takes more is a picture of another kind, and lists would load it for every row. */
const MAX_ICON_BYTES = 256 * 1024;

/**
 * What the job's record may say of the page's end (rules/documents#final-state). An icon is one only if it is a stored
 * asset, whole, small, and made of pixels: what else a page calls its icon would not be shown safely, or not at all.
 */
export async function checkedFinalState(
  ctx: Pick<FleetContext, "db" | "log">,
  { lease }: JobLane,
  state: FinalState | null,
): Promise<FinalState | null> {
  if (!state?.favicon) return state;
  const { job_id } = lease;
  // The result must not be lost for an icon.
  const icon = await ctx.db.assets.get(job_id, state.favicon).catch((err) => {
    ctx.log.warn({ job_id, err }, "the icon of a page was not checked");
    return null;
  });
  if (icon === null) return { ...state, favicon: null };
  const is_shown =
    icon.mime.toLowerCase().startsWith("image/") &&
    isInert(icon.mime) &&
    !icon.partial &&
    icon.size <= MAX_ICON_BYTES;
  return is_shown ? state : { ...state, favicon: null };
}
