import type { LaneHeld } from "#shared/protocol/link/messages.ts";
import type { Assignments } from "#worker/browser/jobs/assignments.ts";
import type { Sessions } from "#worker/browser/session/live-session.ts";

/** What runs here, for a hub that was restarted: jobs whose result is not confirmed, and sessions. */
export function heldLanes(
  assignments: Pick<Assignments, "holds">,
  sessions: Pick<Sessions, "all">,
): LaneHeld[] {
  const jobs = assignments.holds();
  const known = new Set(jobs.map(({ session_id, lease_token }) => `${session_id}#${lease_token}`));
  const others = sessions
    .all()
    .filter((live) => !known.has(`${live.session_id}#${live.lease_token}`))
    .map(({ lane_idx, session_id, lease_token }) => ({
      lane_idx,
      session_id,
      lease_token,
      job_id: null,
    }));
  return [...jobs, ...others];
}
