import { startScripted } from "#hub/fleet/codegen/run-scripted.ts";
import type { FleetContext } from "#hub/fleet/context.ts";
import { tellBack, tellCut } from "#hub/fleet/jobs/cuts.ts";
import {
  failAbandoned,
  failJobsOf,
  failJobsOn,
  finishJob,
  storeJobLog,
} from "#hub/fleet/jobs/finish.ts";
import { leaveRuns, takeUpRuns } from "#hub/fleet/jobs/take-up.ts";
import type { FleetHooks } from "#hub/fleet/links/hooks.ts";
import { isJobLane } from "#hub/fleet/links/worker-link.ts";
import { sessionReply } from "#hub/fleet/sessions/calls.ts";
import { dropSessionOn, dropSessionsOf } from "#hub/fleet/sessions/end.ts";
import { sessionMessage } from "#hub/fleet/sessions/messages.ts";

/**
 * What links report to the rooms above them: jobs, sessions and scripts. `hub` gives the context once it is complete.
 */
export const createFleetHooks = (hub: () => FleetContext): FleetHooks => ({
  laneFree: () => {
    const { changes, dispatcher, candidate } = hub();
    changes.touch("workers");
    dispatcher.kick();
    candidate.changed();
  },
  laneTaken: () => {
    const { changes, candidate } = hub();
    changes.touch("workers");
    candidate.changed();
  },
  workerStarted: (worker_id) => failJobsOf(hub(), worker_id),
  takenUp: (link, left) => takeUpRuns(hub(), link, left),
  leaving: (link) => leaveRuns(hub(), link),
  linkLost: async (link, cause, moved) => {
    const ctx = hub();
    ctx.changes.touch("workers");
    ctx.candidate.changed();
    await dropSessionsOf(ctx, link.worker_id, cause, moved);
    if (!moved) await failJobsOn(ctx, link, cause);
  },
  linkCut: (link) => {
    hub().candidate.changed();
    return tellCut(hub(), link);
  },
  linkBack: (link, cut_ms) => tellBack(hub(), link, cut_ms),
  scriptReady: (held) => startScripted(hub(), held),
  jobLog: (held, message) => storeJobLog(hub(), held, message),
  jobResult: (held, message) => finishJob(hub(), held, message),
  sessionMessage: (link, message) => {
    hub().changes.touch("sessions");
    return sessionMessage(hub(), link, message);
  },
  sessionReply: (link, reply) => sessionReply(hub(), link, reply),
  laneLeft: (held) => dropSessionOn(hub(), held, "its page is closed while its job uploads"),
  laneOver: async (link, held) => {
    await dropSessionOn(hub(), held);
    const uploads = link.uploading.has(held.lease.token);
    if (!held.done && !uploads && isJobLane(held)) await failAbandoned(hub(), link, held);
  },
});
