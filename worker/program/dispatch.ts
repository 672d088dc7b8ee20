import type { Log } from "#shared/kit/log.ts";
import type { HubToWorker } from "#shared/protocol/link/messages.ts";
import type { Assignments } from "#worker/browser/jobs/assignments.ts";
import type { SessionDesk } from "#worker/browser/session/desk.ts";
import type { LinkSession } from "#worker/link/link-session.ts";

function assertNever(message: never): never {
  throw new Error(`no handler for ${JSON.stringify(message)}`);
}

/** Hands a message of a registered link to the part that handles it (rules/worker-link#messages-of-a-hub). */
export function dispatch(
  ctx: { assignments: Assignments; desk: SessionDesk; log: Log },
  session: LinkSession,
  message: HubToWorker,
): void {
  switch (message.type) {
    case "HubAssignJob":
      ctx.assignments.assign(session, message);
      break;
    case "HubCancelJob":
      ctx.assignments.cancel(message);
      break;
    case "HubResultAck":
      ctx.assignments.acknowledge(message);
      break;
    case "HubEndRun":
      ctx.assignments.endRun(message);
      break;
    case "HubOpenSession":
      ctx.desk.open(session, message);
      break;
    case "HubCloseSession":
      ctx.desk.close(message);
      break;
    case "HubViewerEvents":
    case "HubRunEvents":
      ctx.desk.told(message);
      break;
    case "HubSessionCall":
      ctx.desk.call(session, message);
      break;
    case "HubHeartbeatAck":
      break;
    case "HubRegistered":
      ctx.log.warn({}, "skipped a second HubRegistered on one link");
      break;
    default:
      assertNever(message);
  }
}
